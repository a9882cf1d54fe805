// SPDX-License-Identifier: GPL-2.0
/*
 * freplace FILE.o EXT.o: loads the object's program "host", and the other object's "part" into its function of
 * that name. Exit status 77: this kernel, or its lockdown, does not let it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>

static struct bpf_program *find(struct bpf_object *obj, const char *name)
{
	struct bpf_program *prog, *found = NULL;

	bpf_object__for_each_program(prog, obj) {
		bool is = !__builtin_strcmp(bpf_program__name(prog), name);

		bpf_program__set_autoload(prog, is);
		found = is ? prog : found;
	}
	return found;
}

int main(int argc, char **argv)
{
	struct bpf_object *obj = argc == 3 ? bpf_object__open(argv[1]) : NULL;
	struct bpf_object *ext = obj ? bpf_object__open(argv[2]) : NULL;
	struct bpf_program *host = obj ? find(obj, "host") : NULL;
	struct bpf_program *part = ext ? find(ext, "part") : NULL;
	int err;

	if (!host || !part || bpf_object__load(obj))
		return 2;
	if (bpf_program__set_attach_target(part, bpf_program__fd(host), "part"))
		return 3;
	err = bpf_object__load(ext);
	bpf_object__close(ext);
	bpf_object__close(obj);
	return err == -EPERM ? 77 : err ? 4 : 0;
}
