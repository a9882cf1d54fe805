// SPDX-License-Identifier: GPL-2.0
/*
 * plain FILE.o: an ordinary libbpf loader without a skeleton. Loads every program of the object,
 * runs program "count" on one packet and checks that its map has counted it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	unsigned char pkt[100] = { [12] = 0x86, [13] = 0xdd, [14] = 0x60, [20] = 6 };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = pkt, .data_size_in = sizeof(pkt));
	struct bpf_program *prog;
	struct bpf_object *obj;
	__u64 n = 0;
	__u32 key = 0;

	if (argc != 2)
		return 1;
	obj = bpf_object__open(argv[1]);
	if (!obj || bpf_object__load(obj))
		return 2;
	prog = bpf_object__find_program_by_name(obj, "count");
	if (!prog || bpf_prog_test_run_opts(bpf_program__fd(prog), &run))
		return 3;
	if (bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(obj, "seen"), &key, &n) || n != 1) {
		fprintf(stderr, "plain: counted %llu packets, not 1\n", (unsigned long long)n);
		return 4;
	}
	bpf_object__close(obj);
	return 0;
}
