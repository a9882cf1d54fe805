// SPDX-License-Identifier: GPL-2.0
#include "core/objelf.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>

#ifndef EM_BPF
#define EM_BPF 247
#endif

/* Larger objects than this are no BPF programs; keeps a wrong argument from eating the memory. */
#define OBJ_MAX (256l << 20)

static int read_file(const char *path, char **out, size_t *len)
{
	int fd __close = open(path, O_RDONLY | O_CLOEXEC);
	char *buf __free = NULL;
	struct stat st;
	off_t done = 0;

	if (fd < 0)
		return bt_err(-errno, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st))
		return bt_err(-errno, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return bt_err(-EINVAL, "%s is not a file", path);
	if (st.st_size > OBJ_MAX)
		return bt_err(-EFBIG, "%s is too large for a BPF object", path);
	buf = malloc(st.st_size + 1);
	if (!buf)
		return -ENOMEM;
	while (done < st.st_size) {
		ssize_t n = read(fd, buf + done, st.st_size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bt_err(-errno, "cannot read %s: %s", path, strerror(errno));
		if (!n)
			break;
		done += n;
	}
	*len = done;
	*out = TAKE_PTR(buf);
	return 0;
}

/* libelf takes what it can get of a file that has lost its end: look first. */
static int check_whole(const char *path, const char *buf, size_t len, const Elf64_Ehdr *eh)
{
	const Elf64_Shdr *sh;
	Elf64_Half i;

	if (eh->e_shoff > len || eh->e_shentsize != sizeof(*sh) ||
	    (size_t)eh->e_shnum * sizeof(*sh) > len - eh->e_shoff || eh->e_shoff % 8)
		return bt_err(-EINVAL,
			      "%s is cut short or damaged: it has %zu bytes, its section table "
			      "would be at %llu",
			      path, len, (unsigned long long)eh->e_shoff);
	sh = (const void *)(buf + eh->e_shoff);
	for (i = 0; i < eh->e_shnum; i++) {
		if (sh[i].sh_type == SHT_NOBITS || sh[i].sh_type == SHT_NULL)
			continue;
		if (sh[i].sh_offset > len || sh[i].sh_size > len - sh[i].sh_offset)
			return bt_err(-EINVAL,
				      "%s is cut short or damaged: it has %zu bytes, section %u "
				      "would end at %llu",
				      path, len, i,
				      (unsigned long long)(sh[i].sh_offset + sh[i].sh_size));
	}
	return 0;
}

static int check_header(const char *path, const char *buf, size_t len)
{
	const Elf64_Ehdr *eh = (const void *)buf;
	const int byte_order =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

	if (!len)
		return bt_err(-EINVAL, "%s is empty", path);
	if (len < SELFMAG || memcmp(buf, ELFMAG, SELFMAG))
		return bt_err(
			-EINVAL,
			"%s is not an ELF file: a BPF object is what clang -target bpf -c makes",
			path);
	if (len < sizeof(*eh))
		return bt_err(-EINVAL, "%s is cut short: %zu bytes are less than an ELF header",
			      path, len);
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || (eh->e_machine && eh->e_machine != EM_BPF))
		return bt_err(-EINVAL,
			      "%s is an ELF file, but not of BPF code (machine %u, BPF is 247): "
			      "compile with clang -target bpf",
			      path, eh->e_machine);
	if (eh->e_ident[EI_DATA] != byte_order)
		return bt_err(-EINVAL, "%s is a BPF object of the other byte order", path);
	if (eh->e_type != ET_REL)
		return bt_err(-EINVAL, "%s is not an object file (ELF type %u)", path, eh->e_type);
	return check_whole(path, buf, len, eh);
}

static int add_target(struct bt_objelf *e, const char *name)
{
	char **t, *copy;

	if (bt_objelf_is_target(e, name))
		return 0;
	t = realloc(e->targets, (e->target_cnt + 1) * sizeof(*t));
	if (!t)
		return -ENOMEM;
	e->targets = t;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	t[e->target_cnt++] = copy;
	return 0;
}

/* Relocations of section .maps against functions: the slots of program arrays. */
static int read_targets(Elf *elf, Elf_Scn *rel, const GElf_Shdr *sh, struct bt_objelf *e)
{
	Elf_Scn *symtab = elf_getscn(elf, sh->sh_link);
	Elf_Data *syms = symtab ? elf_getdata(symtab, NULL) : NULL;
	Elf_Data *data = elf_getdata(rel, NULL);
	GElf_Shdr symsh;
	GElf_Sym sym;
	GElf_Rel r;
	int i, err = 0;

	if (!syms || !data || !gelf_getshdr(symtab, &symsh))
		return 0;
	for (i = 0; !err && gelf_getrel(data, i, &r); i++) {
		const char *name;

		if (!gelf_getsym(syms, GELF_R_SYM(r.r_info), &sym))
			continue;
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC)
			continue;
		name = elf_strptr(elf, symsh.sh_link, sym.st_name);
		if (name)
			err = add_target(e, name);
	}
	return err;
}

static void read_license(Elf_Scn *scn, struct bt_objelf *e)
{
	Elf_Data *d = elf_getdata(scn, NULL);

	if (d && d->d_buf)
		snprintf(e->license, sizeof(e->license), "%.*s",
			 (int)(d->d_size < sizeof(e->license) ? d->d_size : sizeof(e->license)),
			 (char *)d->d_buf);
}

static int read_sections(Elf *elf, struct bt_objelf *e)
{
	Elf_Scn *scn = NULL;
	size_t shstr;
	int err = 0;

	if (elf_getshdrstrndx(elf, &shstr))
		return -EINVAL;
	while (!err && (scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			return -EINVAL;
		name = elf_strptr(elf, shstr, sh.sh_name);
		if (!name)
			return -EINVAL;
		if (!strcmp(name, "license"))
			read_license(scn, e);
		else if (!strcmp(name, "maps") || !strncmp(name, "maps/", 5))
			e->old_maps = true;
		else if (sh.sh_type == SHT_REL && !strcmp(name, ".rel.maps"))
			err = read_targets(elf, scn, &sh, e);
	}
	return err;
}

int bt_objelf_read(const char *path, struct bt_objelf *out)
{
	struct bt_objelf e = { 0 };
	char *buf __free = NULL;
	size_t len = 0;
	Elf *elf;
	int err;

	err = read_file(path, &buf, &len);
	if (!err)
		err = check_header(path, buf, len);
	if (err)
		return err;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return bt_err(-EINVAL, "libelf is too old");
	elf = elf_memory(buf, len);
	err = elf ? read_sections(elf, &e) : -EINVAL;
	if (elf)
		elf_end(elf);
	if (err) {
		bt_objelf_free(&e);
		return bt_err(err, "%s is damaged: its sections cannot be read", path);
	}
	*out = e;
	return 0;
}

bool bt_objelf_is_target(const struct bt_objelf *e, const char *prog)
{
	size_t i;

	for (i = 0; i < e->target_cnt; i++)
		if (!strcmp(e->targets[i], prog))
			return true;
	return false;
}

void bt_objelf_free(struct bt_objelf *e)
{
	while (e->target_cnt)
		free(e->targets[--e->target_cnt]);
	free(e->targets);
	*e = (struct bt_objelf){ 0 };
}
