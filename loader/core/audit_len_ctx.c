// SPDX-License-Identifier: GPL-2.0
/* Where the running kernel keeps a packet's length and pointers: from its types. */
#include "core/audit_len.h"
#include "core/kbtf.h"

#include <bpf/btf.h>
#include <string.h>

/* Offset in bytes of a member, also of one in a struct or union without a name; -1: none. */
static int member(const struct btf *btf, __u32 id, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	if (!t || !btf_is_composite(t))
		return -1;
	for (__u32 i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *n = btf__name_by_offset(btf, m->name_off);
		int at = (int)btf_member_bit_offset(t, i) / 8, sub;

		if (n && !strcmp(n, name))
			return at;
		sub = n && *n ? -1 : member(btf, m->type, name);
		if (sub >= 0)
			return at + sub;
	}
	return -1;
}

static int member_of(const char *type, const char *name)
{
	const struct btf *btf = bt_kbtf();
	__s32 id = btf ? btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT) : -1;

	return id > 0 ? member(btf, id, name) : -1;
}

void bt_len_scan(const struct bpf_insn *insns, unsigned int n, enum bt_kind kind,
		 struct bt_len_facts *out)
{
	struct bt_len_layout l = { -1, 0, 8 }; /* struct xdp_buff: data, data_end */
	int cb;

	*out = (struct bt_len_facts){ .use = BT_LEN_DECIDES, .direct = true };
	if (kind == BT_KIND_XDP) {
		if (bt_kbtf()) {
			l.data = member_of("xdp_buff", "data");
			l.end = member_of("xdp_buff", "data_end");
		}
	} else {
		cb = member_of("sk_buff", "cb");
		l.len = member_of("sk_buff", "len");
		l.data = member_of("sk_buff", "data");
		l.end = member_of("bpf_skb_data_end", "data_end");
		if (cb < 0 || l.len < 0 || l.end < 0)
			return;
		l.end += cb;
	}
	if (l.data < 0 || l.end < 0)
		return;
	bt_len_scan_at(insns, n, &l, kind == BT_KIND_SOCKET, out);
}
