// SPDX-License-Identifier: GPL-2.0
/* What an audit found, as a table or as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "cmd/audit.h"

/* "hbh PSH,ACK [2001:db8::1]:40000 > [2001:db8::2]:443, 66148 bytes" */
static void packet_text(const struct bt_packet *p, char *buf, size_t len)
{
	char flow[BT_FLOW_STR], flags[32];

	bt_flow_str(&p->flow, flow);
	bt_flags_str(p->flags, flags);
	snprintf(buf, len, "%s %s %s, %u bytes", bt_shape_name(p->shape, p->flow.family), flags,
		 flow, p->len);
}

static void verdict_text(const struct bt_audit_result *res, char *buf, size_t len)
{
	const struct bt_audit_form_result *f;
	char packet[256];
	size_t at;

	buf[0] = 0;
	if (res->worst < 0 || res->forms[res->worst].verdict < BT_VERDICT_MISREADS) {
		snprintf(buf, len, "%s", res->why);
		return;
	}
	f = &res->forms[res->worst];
	packet_text(&f->packet, packet, sizeof(packet));
	at = snprintf(buf, len, "%s%s (%s)", res->twin ? "is a twin, but: " : "", f->diff.text,
		      packet);
	if (f->diff.plain_bytes[0] && at < len)
		at += snprintf(buf + at, len - at, "; %s instead of %s", f->diff.jumbo_bytes,
			       f->diff.plain_bytes);
	if (res->branch[0] && res->worst == BT_AUDIT_HBH && at < len)
		snprintf(buf + at, len - at, "; at %s", res->branch);
}

/* Where the program is counts first, then what it does. */
static void evidence_text(const struct audit_row *row, char *buf, size_t len)
{
	size_t at = snprintf(buf, len, "%s", row->at.no_jumbo ? row->at.no_jumbo : "");

	if (at)
		at += snprintf(buf + at, len - at, "; ");
	verdict_text(&row->res, buf + at, len - at);
	if (at && !buf[at])
		buf[at - 2] = 0;
}

static void json_outcome(const char *key, enum bt_kind kind, __u32 ret, const char *bytes)
{
	bt_obj_open(key);
	bt_print_int("return", NULL, (int)ret);
	bt_print_str("verdict", NULL, bt_ret_name(kind, ret));
	if (bytes[0])
		bt_print_str("bytes", NULL, bytes);
	bt_obj_close();
}

static void json_form(const struct bt_audit_result *res, enum bt_audit_form form)
{
	const struct bt_audit_form_result *f = &res->forms[form];
	char text[256];

	bt_obj_open(bt_audit_form_name(form));
	bt_print_bool("counts", NULL, f->counts);
	bt_print_bool("tried", NULL, f->tried);
	bt_print_str("verdict", NULL,
		     f->tried || f->verdict != BT_VERDICT_SAFE ? bt_verdict_name(f->verdict)
							       : "unknown");
	if (f->verdict >= BT_VERDICT_MISREADS) {
		bt_print_str("what", NULL, f->diff.text);
		packet_text(&f->packet, text, sizeof(text));
		bt_print_str("packet", NULL, text);
		bt_flags_str(f->packet.flags, text);
		bt_print_str("flags", NULL, text);
		json_outcome("plain", res->kind, f->diff.plain_ret, f->diff.plain_bytes);
		json_outcome("jumbo", res->kind, f->diff.jumbo_ret, f->diff.jumbo_bytes);
		if (f->diff.in_map) {
			bt_obj_open("map");
			bt_print_str("name", NULL, f->map);
			bt_print_uint("id", NULL, f->map_id);
			bt_print_str("key", NULL, f->diff.key);
			bt_obj_close();
		}
		if (f->diff.offset >= 0)
			bt_print_int("offset", NULL, f->diff.offset);
	}
	bt_obj_close();
}

static const char *verdict_of(const struct audit_report *r, const struct bt_audit_result *res)
{
	return r->args->no_run ? NULL : bt_verdict_name(res->verdict);
}

static void json_row(const struct audit_report *r, const struct audit_row *row)
{
	const struct bt_attached *at = &row->at;
	const struct bt_audit_result *res = &row->res;
	char text[1024];

	bt_obj_open(NULL);
	bt_print_str("dev", NULL, at->dev[0] ? at->dev : NULL);
	if (at->ifindex)
		bt_print_uint("ifindex", NULL, at->ifindex);
	if (at->cgroup[0])
		bt_print_str("cgroup", NULL, at->cgroup);
	bt_print_str("hook", NULL, at->hook[0] ? at->hook : NULL);
	if (at->prio)
		bt_print_uint("prio", NULL, at->prio);
	bt_print_uint("id", NULL, at->prog_id ? at->prog_id : res->prog_id);
	bt_print_str("name", NULL, res->name);
	if (at->dispatcher)
		bt_print_uint("dispatcher", NULL, at->dispatcher);
	if (at->hook[0])
		bt_print_bool("sees_jumbo", NULL, !at->no_jumbo);
	bt_print_str("verdict", NULL, verdict_of(r, res));
	if (!r->args->no_run) {
		evidence_text(row, text, sizeof(text));
		bt_print_str("evidence", NULL, text);
		bt_print_str("source", NULL, res->branch[0] ? res->branch : NULL);
		bt_print_uint("flows", NULL, res->flows);
		bt_print_uint("runs", NULL, res->runs);
		bt_obj_open("forms");
		for (unsigned int i = 0; i < BT_AUDIT_FORMS; i++)
			json_form(res, i);
		bt_obj_close();
	}
	bt_obj_close();
}

static void json_note(const struct bt_xdp_note *n)
{
	bt_obj_open(NULL);
	bt_print_str("dev", NULL, n->dev);
	bt_print_uint("ifindex", NULL, n->ifindex);
	bt_print_str("hook", NULL, "device");
	bt_print_str("name", NULL, n->code);
	bt_print_str("verdict", NULL, "warning");
	bt_print_str("found", NULL, n->found);
	bt_print_str("why", NULL, n->why);
	bt_print_str("advice", NULL, n->advice);
	bt_obj_close();
}

static const char *place(const struct bt_attached *at)
{
	if (at->cgroup[0])
		return at->cgroup;
	return at->dev[0] ? at->dev : NULL;
}

static void note_row(struct bt_table *t, const struct bt_xdp_note *n)
{
	char text[1024];

	bt_row(t);
	bt_cell_str(t, "dev", n->dev);
	bt_cell_str(t, "hook", "device");
	bt_cell_str(t, "name", n->code);
	bt_cell_str(t, "verdict", "warning");
	snprintf(text, sizeof(text), "%s: %s; %s", n->found, n->why, n->advice);
	bt_cell_str(t, "evidence", text);
}

static void print_table(const struct audit_report *r)
{
	static const struct bt_column cols[] = {
		{ "dev", "DEV" },
		{ "hook", "HOOK" },
		{ "id", "ID" },
		{ "name", "NAME" },
		{ "verdict", "VERDICT", true },
		{ "evidence", "EVIDENCE" },
	};
	struct bt_table *t = bt_table_new(cols, sizeof(cols) / sizeof(cols[0]));
	char text[1024];

	for (unsigned int i = 0; i < r->n; i++) {
		const struct audit_row *row = &r->rows[i];

		bt_row(t);
		bt_cell_str(t, "dev", place(&row->at));
		bt_cell_str(t, "hook", row->at.hook[0] ? row->at.hook : NULL);
		/* ids of programs that the audit loaded itself say nothing */
		if (row->at.prog_id)
			bt_cell_uint(t, "id", row->at.prog_id);
		bt_cell_str(t, "name", row->res.name);
		bt_cell_str(t, "verdict", verdict_of(r, &row->res));
		evidence_text(row, text, sizeof(text));
		bt_cell_str(t, "evidence", r->args->no_run || !text[0] ? NULL : text);
	}
	for (unsigned int i = 0; i < r->n_notes; i++)
		note_row(t, &r->notes[i]);
	bt_table_end(t);
	if (!r->n && !r->n_notes)
		bt_text("no programs attached\n");
}

void audit_print(const struct audit_report *r)
{
	if (!bt_print_json()) {
		print_table(r);
		return;
	}
	bt_arr_open(NULL);
	for (unsigned int i = 0; i < r->n; i++)
		json_row(r, &r->rows[i]);
	for (unsigned int i = 0; i < r->n_notes; i++)
		json_note(&r->notes[i]);
	bt_arr_close();
}
