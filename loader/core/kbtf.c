// SPDX-License-Identifier: GPL-2.0
#include "core/kbtf.h"
#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Loading a kernel's BTF takes tens of ms, a search by name in it about one: both are done once. */
static struct btf *kernel_btf;
static bool kernel_btf_tried;
static pthread_mutex_t kernel_btf_lock = PTHREAD_MUTEX_INITIALIZER;

const struct btf *bt_kbtf(void)
{
	const struct btf *btf;

	pthread_mutex_lock(&kernel_btf_lock);
	if (!kernel_btf_tried)
		kernel_btf = btf__load_vmlinux_btf();
	kernel_btf_tried = true;
	btf = kernel_btf;
	pthread_mutex_unlock(&kernel_btf_lock);
	return btf;
}

void bt_kbtf_forget(void)
{
	pthread_mutex_lock(&kernel_btf_lock);
	btf__free(kernel_btf);
	kernel_btf = NULL;
	kernel_btf_tried = false;
	pthread_mutex_unlock(&kernel_btf_lock);
}

/* btf__new_split() is declared by libbpf 1.1 but not exported; it reads files, though. */
static struct btf *new_split(const void *data, __u32 size, const struct btf *base)
{
	int fd __close = memfd_create("btf", MFD_CLOEXEC);
	char path[32];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return btf__parse_raw_split(path, (struct btf *)base);
}

struct btf *bt_btf_from_fd(int fd, const struct btf *base)
{
	struct bpf_btf_info info = { 0 };
	__u32 len = sizeof(info);
	void *data __free = NULL;
	__u32 size;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return NULL;
	size = info.btf_size;
	if (!size || size > INT_MAX) {
		errno = ENODATA;
		return NULL;
	}
	data = malloc(size);
	if (!data)
		return NULL;
	memset(&info, 0, sizeof(info));
	info.btf = (__u64)(unsigned long)data;
	info.btf_size = size;
	len = sizeof(info);
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return NULL;
	/* The kernel only hands out BTF that it has verified; libbpf still checks the bounds. */
	return base ? new_split(data, size, base) : btf__new(data, size);
}

static int func_name(const struct btf *btf, __s32 id, char *buf, size_t len)
{
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const char *name;

	if (!t || !btf_is_func(t))
		return -ENOENT;
	name = btf__name_by_offset(btf, t->name_off);
	if (!name || !*name)
		return -ENOENT;
	snprintf(buf, len, "%s", name);
	return 0;
}

int bt_kfunc_name(__s32 imm, __s16 off, const int *fd_array, char *buf, size_t len)
{
	const struct btf *base = bt_kbtf();
	struct btf *mod;
	int err;

	if (!base)
		return -ENODATA;
	if (!off)
		return func_name(base, imm, buf, len);
	if (off < 0 || !fd_array)
		return -ENOENT;
	mod = bt_btf_from_fd(fd_array[off], base);
	if (!mod)
		return -ENODATA;
	err = func_name(mod, imm, buf, len);
	btf__free(mod);
	return err;
}

/* Answers of bt_kfunc_id(): the engine asks for the same few names for each program. */
#define KFUNC_CACHE 16

static struct {
	char name[64];
	__s32 id;
} kfunc_cache[KFUNC_CACHE];
static unsigned int kfunc_cached;
static pthread_mutex_t kfunc_lock = PTHREAD_MUTEX_INITIALIZER;

static __s32 find_kfunc(const char *name)
{
	const struct btf *btf = bt_kbtf();
	__s32 id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) : -ENOENT;

	return id > 0 ? id : -ENOENT;
}

__s32 bt_kfunc_id(const char *name)
{
	unsigned int i;
	__s32 id;

	pthread_mutex_lock(&kfunc_lock);
	for (i = 0; i < kfunc_cached; i++) {
		if (!strcmp(kfunc_cache[i].name, name)) {
			id = kfunc_cache[i].id;
			goto out;
		}
	}
	id = find_kfunc(name);
	if (kfunc_cached < KFUNC_CACHE && strlen(name) < sizeof(kfunc_cache[0].name)) {
		strcpy(kfunc_cache[kfunc_cached].name, name);
		kfunc_cache[kfunc_cached++].id = id;
	}
out:
	pthread_mutex_unlock(&kfunc_lock);
	return id;
}

/* The last record at or before @insn; records are sorted by instruction. */
static const struct bpf_line_info *line_of(const void *recs, __u32 cnt, __u32 rec_size, __u32 insn)
{
	const struct bpf_line_info *best = NULL;
	__u32 i;

	for (i = 0; i < cnt; i++) {
		const struct bpf_line_info *li = recs + (size_t)i * rec_size;

		if (li->insn_off > insn)
			break;
		best = li;
	}
	return best;
}

int bt_insn_source(int btf_fd, const void *line_info, __u32 cnt, __u32 rec_size, __u32 insn,
		   char *buf, size_t len)
{
	const struct bpf_line_info *li;
	const char *file, *line, *base;
	struct btf *btf;
	int err = -ENOENT;

	buf[0] = 0;
	if (btf_fd <= 0 || !line_info || rec_size < sizeof(*li))
		return -ENOENT;
	li = line_of(line_info, cnt, rec_size, insn);
	btf = li ? bt_btf_from_fd(btf_fd, NULL) : NULL;
	if (!btf)
		return -ENOENT;
	file = btf__name_by_offset(btf, li->file_name_off);
	line = btf__name_by_offset(btf, li->line_off);
	if (file && line && *file) {
		base = strrchr(file, '/');
		line += strspn(line, " \t");
		snprintf(buf, len, "%s:%u: %s", base ? base + 1 : file,
			 BPF_LINE_INFO_LINE_NUM(li->line_col), line);
		err = 0;
	}
	btf__free(btf);
	return err;
}
