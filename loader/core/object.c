// SPDX-License-Identifier: GPL-2.0
/* Object files: libbpf opens and loads them, and each program that can becomes a twin on the way. */
#include "core/twinload.h"
#include "core/objelf.h"
#include "core/twintype.h"
#include "core/vlog.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct bt_object {
	struct bpf_object *obj;
	struct bt_objelf elf;
	struct bt_object_opts opts;
	struct bt_twin_report *reps;
	unsigned int rep_cnt;
	struct bt_twin_kept *kept; /* as many as reports */
	char **new_pins;
	unsigned int new_pin_cnt;
	/* libbpf's words, of which only the last line, or the end of a verifier's log, is kept. */
	char warning[512];
	char log[2048];
};

/* libbpf's print function and section handlers have no argument of ours. */
static struct bt_object *current;
static libbpf_print_fn_t outer_print;

static void keep_warning(struct bt_object *o, const char *text)
{
	static const char begin[] = "-- BEGIN PROG LOAD LOG --\n",
			  end[] = "-- END PROG LOAD LOG --";
	const char *log = strstr(text, begin), *stop;

	if (log) {
		log += strlen(begin);
		stop = strstr(log, end);
		bt_vlog_tail(log, stop ? (size_t)(stop - log) : strlen(log), o->log,
			     sizeof(o->log));
		return;
	}
	/* What follows the cause is only "failed to load object" and the like. */
	if (strstr(text, "failed to load object") || strstr(text, "failed to load '"))
		return;
	if (!strncmp(text, "libbpf: ", 8))
		text += 8;
	snprintf(o->warning, sizeof(o->warning), "%.*s", (int)strcspn(text, "\n"), text);
}

static int capture(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text __free = NULL;
	va_list copy;
	int n = 0;

	if (level == LIBBPF_WARN && current) {
		va_copy(copy, ap);
		n = vasprintf(&text, fmt, copy);
		va_end(copy);
		if (n >= 0)
			keep_warning(current, text);
		else
			text = NULL;
	}
	return outer_print ? outer_print(level, fmt, ap) : n;
}

static void capture_start(struct bt_object *o)
{
	current = o;
	outer_print = libbpf_set_print(capture);
}

static void capture_stop(void)
{
	libbpf_set_print(outer_print);
	outer_print = NULL;
	current = NULL;
}

static struct bt_twin_report *new_report(struct bt_object *o, const struct bpf_program *prog)
{
	struct bt_twin_report *reps;
	struct bt_twin_kept *kept;

	reps = realloc(o->reps, (o->rep_cnt + 1) * sizeof(*reps));
	if (!reps)
		return NULL;
	o->reps = reps;
	kept = realloc(o->kept, (o->rep_cnt + 1) * sizeof(*kept));
	if (!kept)
		return NULL;
	o->kept = kept;
	kept[o->rep_cnt] = (struct bt_twin_kept){ .state_fd = -1, .buf_fd = -1 };
	reps += o->rep_cnt++;
	memset(reps, 0, sizeof(*reps));
	snprintf(reps->prog_name, sizeof(reps->prog_name), "%s", bpf_program__name(prog));
	reps->prog_type = bpf_program__type(prog);
	return reps;
}

/* The load call that libbpf is about to make. */
static void fill_attr(union bpf_attr *a, const struct bt_object *o, const struct bpf_program *prog,
		      const struct bpf_prog_load_opts *opts)
{
	memset(a, 0, sizeof(*a));
	a->prog_type = bpf_program__type(prog);
	a->insns = (__u64)(unsigned long)bpf_program__insns(prog);
	a->insn_cnt = bpf_program__insn_cnt(prog);
	a->license = (__u64)(unsigned long)o->elf.license;
	a->kern_version = opts->kern_version;
	a->prog_flags = opts->prog_flags;
	snprintf(a->prog_name, sizeof(a->prog_name), "%s", bpf_program__name(prog));
	a->prog_ifindex = opts->prog_ifindex;
	a->expected_attach_type = opts->expected_attach_type;
	a->prog_btf_fd = opts->prog_btf_fd;
	a->func_info_rec_size = opts->func_info_rec_size;
	a->func_info = (__u64)(unsigned long)opts->func_info;
	a->func_info_cnt = opts->func_info_cnt;
	a->line_info_rec_size = opts->line_info_rec_size;
	a->line_info = (__u64)(unsigned long)opts->line_info;
	a->line_info_cnt = opts->line_info_cnt;
	a->fd_array = (__u64)(unsigned long)opts->fd_array;
}

/*
 * Called by libbpf with a program that is complete but for the load call. There is no way to
 * hand it a loaded program, so each is verified twice: here, where it can still be exchanged
 * for another and a refusal is told in our words, and in libbpf's own call.
 */
static int prepare_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	struct bt_object *o = current;
	struct bt_twin_report *rep;
	struct bt_twin_kept *kept;
	union bpf_attr attr;
	int fd __close = -1;

	opts->prog_flags |= (__u32)cookie;
	if (!o) /* a skeleton of our own, or another library's object: none of our business */
		return 0;
	rep = new_report(o, prog);
	if (!rep)
		return -ENOMEM;
	kept = &o->kept[rep - o->reps];
	fill_attr(&attr, o, prog, opts);
	if (o->opts.plain)
		fd = bt_plain_prog_load(&attr, sizeof(attr), rep);
	else
		fd = bt_twin_prog_load_keep(&attr, sizeof(attr), o->opts.policy, &o->opts.twin, rep,
					    kept);
	if (fd < 0)
		return fd;
	if (rep->status != BT_TWIN_MADE)
		return 0;
	opts->func_info = kept->twin.func_info;
	opts->func_info_cnt = kept->twin.func_info_cnt;
	opts->line_info = kept->twin.line_info;
	opts->line_info_cnt = kept->twin.line_info_cnt;
	return bpf_program__set_insns(prog, kept->twin.insns, kept->twin.insn_cnt);
}

/*
 * Registered once for the life of the process: libbpf keeps pointers into its table of handlers in
 * the objects that are open, and moves the table when one is added.
 */
static int register_handlers(void)
{
	/* As libbpf's own table has them, whose prefixes end where a '+' is. */
	static const struct {
		const char *sec;
		enum bpf_prog_type type;
		enum bpf_attach_type attach;
		__u32 flags; /* of the load call */
	} secs[] = {
		{ "tc+", BPF_PROG_TYPE_SCHED_CLS },
		{ "tcx+", BPF_PROG_TYPE_SCHED_CLS },
		{ "classifier+", BPF_PROG_TYPE_SCHED_CLS },
		{ "netkit+", BPF_PROG_TYPE_SCHED_CLS },
		{ "action+", BPF_PROG_TYPE_SCHED_ACT },
		{ "xdp.frags/devmap", BPF_PROG_TYPE_XDP, BPF_XDP_DEVMAP, BPF_F_XDP_HAS_FRAGS },
		{ "xdp/devmap", BPF_PROG_TYPE_XDP, BPF_XDP_DEVMAP },
		{ "xdp.frags/cpumap", BPF_PROG_TYPE_XDP, BPF_XDP_CPUMAP, BPF_F_XDP_HAS_FRAGS },
		{ "xdp/cpumap", BPF_PROG_TYPE_XDP, BPF_XDP_CPUMAP },
		{ "xdp.frags", BPF_PROG_TYPE_XDP, BPF_XDP, BPF_F_XDP_HAS_FRAGS },
		{ "xdp", BPF_PROG_TYPE_XDP, BPF_XDP },
		{ "cgroup_skb/ingress", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS },
		{ "cgroup_skb/egress", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS },
		{ "cgroup/skb", BPF_PROG_TYPE_CGROUP_SKB },
		{ "socket", BPF_PROG_TYPE_SOCKET_FILTER },
		{ NULL, BPF_PROG_TYPE_UNSPEC }, /* any other section */
	};
	static bool done;
	size_t i;
	int id;

	for (i = 0; !done && i < sizeof(secs) / sizeof(secs[0]); i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = secs[i].flags,
			    .prog_prepare_load_fn = prepare_load);

		id = libbpf_register_prog_handler(secs[i].sec, secs[i].type, secs[i].attach, &opts);
		if (id < 0)
			return bt_err(id, "libbpf does not take section handlers: %s",
				      strerror(-id));
	}
	done = true;
	return 0;
}

/* Is it one of those that are meant? */
static bool is_wanted(const struct bt_object *o, const struct bpf_program *prog)
{
	enum bpf_prog_type type = bpf_program__type(prog), want = o->opts.type;

	return want ? bt_twin_type(type)->group == bt_twin_type(want)->group
		    : bt_twin_type_has(type);
}

/* "tc program", "program that gets a twin": what is_wanted() says yes to. */
static const char *wanted(const struct bt_object *o, char *buf, size_t len)
{
	if (!o->opts.type)
		return "program of a type that gets twins";
	snprintf(buf, len, "%s program", bt_twin_type(o->opts.type)->name);
	return buf;
}

/* For a program whose section's name says nothing. */
static void default_type(const struct bt_object *o, struct bpf_program *prog)
{
	if (bpf_program__type(prog) == BPF_PROG_TYPE_UNSPEC)
		bpf_program__set_type(prog, o->opts.type ? o->opts.type : BPF_PROG_TYPE_SCHED_CLS);
}

static const char *type_name(enum bpf_prog_type type)
{
	const char *name = libbpf_bpf_prog_type_str(type);

	return name ? name : "unknown";
}

static int no_such_program(const struct bt_object *o, const char *path)
{
	struct bpf_program *prog;
	char list[1024] = "";
	size_t pos = 0;

	bpf_object__for_each_program(prog, o->obj) {
		int n = snprintf(list + pos, sizeof(list) - pos, "%s%s (%s)", pos ? ", " : "",
				 bpf_program__name(prog), bpf_program__section_name(prog));

		if (n < 0 || pos + n >= sizeof(list)) {
			snprintf(list + pos, sizeof(list) - pos, "%s...", pos ? ", " : "");
			break;
		}
		pos += n;
	}
	return bt_err(-ENOENT, "%s has no program '%s'; it has: %s", path, o->opts.only,
		      *list ? list : "none at all");
}

/* Loads @o->opts.only and what it tail-calls; leaves the rest of the object out. */
static int select_one(struct bt_object *o, const char *path)
{
	struct bpf_program *prog, *want;
	char kind[64];

	want = bpf_object__find_program_by_name(o->obj, o->opts.only);
	if (!want)
		return no_such_program(o, path);
	bpf_object__for_each_program(prog, o->obj) {
		bool load = prog == want || bt_objelf_is_target(&o->elf, bpf_program__name(prog));

		if (load)
			default_type(o, prog);
		bpf_program__set_autoload(prog, load);
	}
	if (o->opts.any_type || is_wanted(o, want))
		return 0;
	return bt_err(-EINVAL, "program %s of %s is of type %s (section \"%s\"): no %s",
		      o->opts.only, path, type_name(bpf_program__type(want)),
		      bpf_program__section_name(want), wanted(o, kind, sizeof(kind)));
}

/* The program that is meant when none is named. */
static int find_sole(struct bt_object *o, const char *path)
{
	struct bpf_program *prog, *sole = NULL;
	char kind[64];

	bpf_object__for_each_program(prog, o->obj) {
		if (!is_wanted(o, prog) || bt_objelf_is_target(&o->elf, bpf_program__name(prog)))
			continue;
		if (sole)
			return bt_err(-ENOTUNIQ,
				      "%s has more than one %s (%s, %s ...): choose with --prog",
				      path, wanted(o, kind, sizeof(kind)), bpf_program__name(sole),
				      bpf_program__name(prog));
		sole = prog;
	}
	if (sole)
		o->opts.only = bpf_program__name(sole);
	return 0;
}

static int select_all(struct bt_object *o, const char *path)
{
	struct bpf_program *prog;
	unsigned int known = 0;

	bpf_object__for_each_program(prog, o->obj) {
		if (bpf_program__type(prog) != BPF_PROG_TYPE_UNSPEC)
			known++;
		else if (bt_objelf_is_target(&o->elf, bpf_program__name(prog)))
			default_type(o, prog);
		else
			bpf_program__set_autoload(prog, false);
	}
	if (known)
		return 0;
	prog = bpf_object__next_program(o->obj, NULL);
	if (!prog)
		return bt_err(-ENOENT, "%s has no program", path);
	return bt_err(-ENOENT,
		      "%s has no program in a section whose name says its type (the first is %s in "
		      "\"%s\"): name the one to use with --prog",
		      path, bpf_program__name(prog), bpf_program__section_name(prog));
}

/* Maps with LIBBPF_PIN_BY_NAME: remember which pins were there before us. */
static int note_pins(struct bt_object *o)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, o->obj) {
		const char *path = bpf_map__get_pin_path(map);
		char **pins, *copy;

		if (!path)
			continue;
		if (o->opts.no_pins) {
			bpf_map__set_pin_path(map, NULL);
			continue;
		}
		if (!access(path, F_OK))
			continue;
		pins = realloc(o->new_pins, (o->new_pin_cnt + 1) * sizeof(*pins));
		copy = strdup(path);
		if (pins)
			o->new_pins = pins;
		if (!pins || !copy) {
			free(copy);
			return -ENOMEM;
		}
		pins[o->new_pin_cnt++] = copy;
	}
	return 0;
}

static int open_error(const struct bt_object *o, const char *path, int err)
{
	return bt_err(err, "%s is no BPF object that libbpf %u.%u can use: %s", path,
		      libbpf_major_version(), libbpf_minor_version(),
		      o->warning[0] ? o->warning : strerror(-err));
}

/* The program that failed, when it was the kernel's answer to a program. */
static struct bt_twin_report *failed_report(struct bt_object *o, int err)
{
	struct bt_twin_report *rep = o->rep_cnt ? &o->reps[o->rep_cnt - 1] : NULL;
	char cause[256];

	if (rep && rep->err)
		return rep;
	/* Not rewritten, or its twin was accepted a moment ago: libbpf's own load call failed. */
	if (!rep || !o->log[0])
		return NULL;
	rep->err = err;
	rep->status = BT_TWIN_BAD_PROG;
	memcpy(rep->log, o->log, sizeof(rep->log));
	bt_vlog_cause(rep->log, cause, sizeof(cause));
	snprintf(rep->text, sizeof(rep->text), "the kernel's verifier refuses program %s: %s",
		 rep->prog_name, cause);
	return rep;
}

static int load_error(struct bt_object *o, const char *path, int err)
{
	const struct bt_twin_report *rep;
	char why[512];

	rep = failed_report(o, err);
	if (rep)
		return bt_err(err, "%s", rep->text);
	if (err == -EPERM) {
		bt_eperm_text(why, sizeof(why));
		return bt_err(err, "cannot load %s: %s", path, why);
	}
	/* Not by -ESRCH, which a missing kfunc or variable of the kernel gives too. */
	if (strstr(o->warning, "kernel BTF") || strstr(o->warning, "vmlinux BTF"))
		return bt_err(
			err,
			"cannot load %s: it is compiled with CO-RE, and this kernel gives no BTF "
			"(/sys/kernel/btf/vmlinux; CONFIG_DEBUG_INFO_BTF)",
			path);
	bt_vlog_cause(o->log, why, sizeof(why));
	return bt_err(err, "cannot load %s: %s", path,
		      *why	    ? why
		      : *o->warning ? o->warning
				    : strerror(-err));
}

static int open_object(struct bt_object *o, const char *path)
{
	char kind[64];
	int err;

	err = bt_objelf_read(path, &o->elf);
	if (err)
		return err;
	if (o->elf.old_maps)
		return bt_err(
			-EOPNOTSUPP,
			"%s declares its maps in a \"maps\" section, the form of iproute2 and "
			"libbpf before 1.0: only the loader it is written for can load it; run "
			"that one under 'bigtcp exec'",
			path);
	o->obj = bpf_object__open_file(path, NULL);
	if (!o->obj)
		return open_error(o, path, -errno);
	if (o->opts.sole && !o->opts.only)
		err = find_sole(o, path);
	if (!err)
		err = o->opts.only ? select_one(o, path) : select_all(o, path);
	if (!err && o->opts.sole && !o->opts.only)
		err = bt_err(-ENOENT, "%s has no %s", path, wanted(o, kind, sizeof(kind)));
	if (!err && o->opts.prepare)
		err = o->opts.prepare(o->obj, o->opts.prepare_arg);
	return err ? err : note_pins(o);
}

static void free_kept(struct bt_object *o)
{
	unsigned int i;

	for (i = 0; o->kept && i < o->rep_cnt; i++)
		bt_twin_kept_free(&o->kept[i]);
	free(o->kept);
	o->kept = NULL;
}

int bt_object_load(const char *path, const struct bt_object_opts *opts, struct bt_object **out)
{
	struct bt_object *o;
	int err;

	*out = NULL;
	err = register_handlers();
	if (err)
		return err;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->opts = *opts;
	capture_start(o);
	err = open_object(o, path);
	if (!err) {
		err = bpf_object__load(o->obj);
		if (err)
			err = load_error(o, path, err);
	}
	capture_stop();
	free_kept(o);
	if (!err) {
		*out = o;
		return 0;
	}
	bpf_object__close(o->obj);
	o->obj = NULL;
	if (o->rep_cnt)
		*out = o;
	else
		bt_object_free(o);
	return err;
}

void bt_object_undo_pins(struct bt_object *o)
{
	while (o->new_pin_cnt) {
		char *path = o->new_pins[--o->new_pin_cnt];

		unlink(path);
		free(path);
	}
}

void bt_object_free(struct bt_object *o)
{
	if (!o)
		return;
	free_kept(o);
	bpf_object__close(o->obj);
	bt_objelf_free(&o->elf);
	while (o->new_pin_cnt)
		free(o->new_pins[--o->new_pin_cnt]);
	free(o->new_pins);
	free(o->reps);
	free(o);
}

struct bpf_object *bt_object_bpf(struct bt_object *o)
{
	return o->obj;
}

struct bpf_program *bt_object_prog(struct bt_object *o)
{
	return o->opts.only ? bpf_object__find_program_by_name(o->obj, o->opts.only) : NULL;
}

unsigned int bt_object_reports(const struct bt_object *o, const struct bt_twin_report **reps)
{
	*reps = o->reps;
	return o->rep_cnt;
}
