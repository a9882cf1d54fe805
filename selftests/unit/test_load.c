// SPDX-License-Identifier: GPL-2.0
/* What load and attach work out without the kernel: log tails, names of pins, damaged files. */
#include "base/err.h"
#include "core/objelf.h"
#include "core/pins.h"
#include "core/vlog.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- the verifier's log --------------------------------------------------------------------- */

static const char log_text[] = "0: R1=ctx() R10=fp0\n"
			       "; return *data; @ x.c:23\n"
			       "1: (71) r0 = *(u8 *)(r1 +0)\n"
			       "\n"
			       "invalid access to packet, off=0 size=1\n"
			       "R1 offset is outside of the packet\n"
			       "verification time 84 usec\n"
			       "stack depth 0\n"
			       "processed 2 insns (limit 1000000) max_states_per_insn 0\n";

Test(vlog, statistics_and_blank_lines_go)
{
	char out[512];

	bt_vlog_tail(log_text, sizeof(log_text), out, sizeof(out));
	cr_assert_str_eq(out, "0: R1=ctx() R10=fp0\n; return *data; @ x.c:23\n"
			      "1: (71) r0 = *(u8 *)(r1 +0)\n"
			      "invalid access to packet, off=0 size=1\n"
			      "R1 offset is outside of the packet");
}

Test(vlog, whole_lines_that_fit)
{
	char out[60];

	bt_vlog_tail(log_text, sizeof(log_text), out, sizeof(out));
	cr_assert_str_eq(out, "R1 offset is outside of the packet");
	bt_vlog_tail(log_text, sizeof(log_text), out, 11);
	cr_assert_str_eq(out, "R1 offset ");
	bt_vlog_tail(log_text, sizeof(log_text), out, 1);
	cr_assert_str_empty(out);
}

Test(vlog, never_more_lines_than_said)
{
	char big[4096] = "", out[4096];
	unsigned int lines = 1;

	for (int i = 0; i < 100; i++)
		sprintf(big + strlen(big), "line %d\n", i);
	bt_vlog_tail(big, sizeof(big), out, sizeof(out));
	for (const char *p = out; *p; p++)
		lines += *p == '\n';
	cr_assert_eq(lines, BT_VLOG_LINES);
	cr_assert_not_null(strstr(out, "line 99"));
}

/* A log without a NUL or a newline at its end, in memory that ends there too (ASan looks). */
Test(vlog, no_byte_past_the_end)
{
	for (size_t len = 0; len <= sizeof(log_text); len++) {
		char *copy = malloc(len ? len : 1);
		char out[128];

		memcpy(copy, log_text, len);
		bt_vlog_tail(copy, len, out, sizeof(out));
		cr_assert_lt(strlen(out), sizeof(out));
		free(copy);
	}
}

Test(vlog, empty_and_blank)
{
	char out[16] = "x";

	bt_vlog_tail("", 0, out, sizeof(out));
	cr_assert_str_empty(out);
	bt_vlog_tail("\n \t\n\n", 6, out, sizeof(out));
	cr_assert_str_empty(out);
}

Test(vlog, the_cause_is_no_dump)
{
	char out[128];

	bt_vlog_cause("15: (05) goto pc-10\ninfinite loop detected at insn 15\n"
		      "cur state: R0=scalar()\nold state: R0=scalar()",
		      out, sizeof(out));
	cr_assert_str_eq(out, "infinite loop detected at insn 15");
	bt_vlog_cause("1: (71) r0 = *(u8 *)(r1 +0)\nR1 offset is outside of the packet", out,
		      sizeof(out));
	cr_assert_str_eq(out, "R1 offset is outside of the packet");
	bt_vlog_cause("", out, sizeof(out));
	cr_assert_str_empty(out);
	bt_vlog_cause("1: (95) exit\n; return 0;", out, sizeof(out));
	cr_assert_str_empty(out);
}

/* --- names of pins ----------------------------------------------------------------------------- */

static void check_same(const struct bt_pin *a, const struct bt_pin *b)
{
	cr_assert_eq(a->netns, b->netns);
	cr_assert_eq(a->ifindex, b->ifindex);
	cr_assert_eq(a->cgroup, b->cgroup);
	cr_assert_eq(a->hook, b->hook);
	cr_assert_eq(a->kind, b->kind);
	cr_assert_eq(a->prio, b->prio);
	cr_assert_eq(a->handle, b->handle);
	cr_assert_str_eq(a->prog, b->prog);
}

Test(pins, a_name_says_all)
{
	struct bt_pin pins[] = {
		{ .netns = 4026531840, .ifindex = 7, .prog = "fw_naive" },
		{ .netns = UINT64_MAX, .ifindex = INT_MAX, .hook = BT_HOOK_EGRESS, .prog = "x" },
		{ .netns = 1,
		  .ifindex = 1,
		  .kind = BT_PIN_CLS,
		  .prio = 49152,
		  .handle = 0xb167,
		  .prog = "a_b_c" },
		{ .netns = 1,
		  .ifindex = 1,
		  .hook = BT_HOOK_EGRESS,
		  .kind = BT_PIN_CLS,
		  .prio = 65535,
		  .handle = UINT_MAX,
		  .prog = "tcx" },
		{ .netns = 4026531840,
		  .ifindex = INT_MAX,
		  .hook = BT_HOOK_XDP,
		  .kind = BT_PIN_LINK,
		  .prog = "xdp_fw" },
		{ .cgroup = UINT64_MAX,
		  .hook = BT_HOOK_CGROUP_INGRESS,
		  .kind = BT_PIN_LINK,
		  .prog = "link" },
		{ .cgroup = 1, .hook = BT_HOOK_CGROUP_EGRESS, .kind = BT_PIN_LINK, .prog = "acct" },
	};
	struct bt_pin back;
	char name[NAME_MAX + 1];

	for (size_t i = 0; i < sizeof(pins) / sizeof(pins[0]); i++) {
		cr_assert_eq(bt_pin_format(&pins[i], name, sizeof(name)), 0);
		memset(&back, 0xff, sizeof(back));
		cr_assert_eq(bt_pin_parse(name, &back), 0, "%s", name);
		check_same(&pins[i], &back);
	}
}

Test(pins, other_files_are_not_ours)
{
	static const char *const names[] = {
		"",
		"-",
		"----",
		"fw",
		"1-2-ingress-tcx",
		"1-2-ingress-tcx-",
		"1-0-ingress-tcx-fw",
		"1-2-sideways-tcx-fw",
		"1-2-ingress-xdp-fw",
		"1-2-ingress-link-fw",
		"1-2-xdp-tcx-fw",
		"1-2-xdp-cls5_1-fw",
		"1-2147483648-xdp-link-fw",
		"1-2-cgroup_egress-link-fw",
		"0-0-cgroup_egress-link-fw",
		"0-2-cgroup_egress-tcx-fw",
		"0-2-cgroup-egress-link-fw",
		"0-18446744073709551616-cgroup_egress-link-fw",
		"1-2-ingress-cls-fw",
		"1-2-ingress-cls5-fw",
		"1-2-ingress-cls5_-fw",
		"1-2-ingress-cls65536_1-fw",
		"1-2-ingress-cls1_4294967296-fw",
		"x-2-ingress-tcx-fw",
		"+1-2-ingress-tcx-fw",
		" 1-2-ingress-tcx-fw",
		"1--2-ingress-tcx-fw",
		"1-2147483648-ingress-tcx-fw",
		"18446744073709551616-2-ingress-tcx-fw",
		/* A program array beside a link. */
		"1-2-ingress-tcx-fw-stages",
	};
	struct bt_pin pin = { .ifindex = 99 };
	char longest[NAME_MAX + 10];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_assert_eq(bt_pin_parse(names[i], &pin), -EINVAL, "'%s'", names[i]);
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "1-2-ingress-tcx-", 16);
	longest[sizeof(longest) - 1] = 0;
	cr_assert_eq(bt_pin_parse(longest, &pin), -EINVAL);
	longest[NAME_MAX - 2] = 0;
	cr_assert_eq(bt_pin_parse(longest, &pin), -EINVAL, "longer than a program's name");
	cr_assert_eq(pin.ifindex, 99, "touched on failure");
}

Test(pins, too_long_is_said)
{
	struct bt_pin pin = { .netns = 1, .ifindex = 1, .prog = "fw" };
	char name[20];

	cr_assert_eq(bt_pin_format(&pin, name, sizeof(name)), 0);
	cr_assert_eq(bt_pin_format(&pin, name, strlen(name)), -ENAMETOOLONG);
}

Test(pins, hooks_by_name)
{
	enum bt_hook_id hook = 77;

	for (int i = 0; i < __BT_HOOK_MAX; i++) {
		cr_assert_eq(bt_hook_parse(bt_hook_name(i), &hook), 0);
		cr_assert_eq(hook, i);
	}
	cr_assert_eq(bt_hook_parse("cgroup", &hook), -EINVAL);
	cr_assert_eq(bt_hook_parse("", &hook), -EINVAL);
	cr_assert_eq(hook, __BT_HOOK_MAX - 1, "touched on failure");
	cr_assert(bt_hook_is_cgroup(BT_HOOK_CGROUP_EGRESS) && !bt_hook_is_cgroup(BT_HOOK_XDP));
}

/* --- object files ------------------------------------------------------------------------------- */

static char path[] = "/dev/shm/bt_unit_XXXXXX";

static void remove_file(void)
{
	unlink(path);
}

static int read_bytes(const void *data, size_t len, struct bt_objelf *e)
{
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(data, 1, len, f), len);
	fclose(f);
	bt_err_clear();
	return bt_objelf_read(path, e);
}

/* The smallest object: a section table of three, the license, and names. */
struct tiny {
	Elf64_Ehdr eh;
	char license[8];
	char names[32];
	Elf64_Shdr sh[3];
};

static void make_tiny(struct tiny *t)
{
	static const char names[] = "\0license\0.shstrtab";

	memset(t, 0, sizeof(*t));
	memcpy(t->eh.e_ident, ELFMAG, SELFMAG);
	t->eh.e_ident[EI_CLASS] = ELFCLASS64;
	t->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	t->eh.e_ident[EI_VERSION] = EV_CURRENT;
	t->eh.e_type = ET_REL;
	t->eh.e_machine = 247;
	t->eh.e_version = EV_CURRENT;
	t->eh.e_ehsize = sizeof(t->eh);
	t->eh.e_shoff = offsetof(struct tiny, sh);
	t->eh.e_shentsize = sizeof(Elf64_Shdr);
	t->eh.e_shnum = 3;
	t->eh.e_shstrndx = 2;
	memcpy(t->license, "GPL", 4);
	memcpy(t->names, names, sizeof(names));
	t->sh[1] = (Elf64_Shdr){ .sh_name = 1,
				 .sh_type = SHT_PROGBITS,
				 .sh_offset = offsetof(struct tiny, license),
				 .sh_size = 4 };
	t->sh[2] = (Elf64_Shdr){ .sh_name = 9,
				 .sh_type = SHT_STRTAB,
				 .sh_offset = offsetof(struct tiny, names),
				 .sh_size = sizeof(names) };
}

static void make_path(void)
{
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
}

Test(objelf, reads_the_licence, .init = make_path, .fini = remove_file)
{
	struct bt_objelf e;
	struct tiny t;

	make_tiny(&t);
	cr_assert_eq(read_bytes(&t, sizeof(t), &e), 0, "%s", bt_err_text());
	cr_assert_str_eq(e.license, "GPL");
	cr_assert_eq(e.target_cnt, 0);
	cr_assert_not(e.old_maps);
	bt_objelf_free(&e);
}

Test(objelf, every_cut_is_seen, .init = make_path, .fini = remove_file)
{
	struct bt_objelf e;
	struct tiny t;

	make_tiny(&t);
	for (size_t len = 0; len < sizeof(t); len++) {
		cr_assert_lt(read_bytes(&t, len, &e), 0, "%zu bytes", len);
		cr_assert_not_null(bt_err_text(), "%zu bytes", len);
	}
}

Test(objelf, no_byte_makes_it_crash, .init = make_path, .fini = remove_file)
{
	struct bt_objelf e;
	struct tiny t;

	for (size_t i = 0; i < sizeof(t); i++) {
		make_tiny(&t);
		((unsigned char *)&t)[i] ^= 0xff;
		if (!read_bytes(&t, sizeof(t), &e))
			bt_objelf_free(&e);
		else
			cr_assert_not_null(bt_err_text(), "byte %zu", i);
	}
}

Test(objelf, what_it_is_instead, .init = make_path, .fini = remove_file)
{
	struct bt_objelf e;
	struct tiny t;

	make_tiny(&t);
	t.eh.e_machine = EM_X86_64;
	cr_assert_eq(read_bytes(&t, sizeof(t), &e), -EINVAL);
	cr_assert_not_null(strstr(bt_err_text(), "not of BPF code (machine 62"));
	make_tiny(&t);
	t.eh.e_ident[EI_DATA] = ELFDATA2MSB;
	cr_assert_eq(read_bytes(&t, sizeof(t), &e), -EINVAL);
	cr_assert_not_null(strstr(bt_err_text(), "other byte order"));
	make_tiny(&t);
	t.eh.e_type = ET_EXEC;
	cr_assert_eq(read_bytes(&t, sizeof(t), &e), -EINVAL);
	cr_assert_not_null(strstr(bt_err_text(), "not an object file"));
}
