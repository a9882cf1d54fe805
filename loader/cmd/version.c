// SPDX-License-Identifier: GPL-2.0
/* bigtcp version, -V */
#include <bpf/libbpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/print.h"
#include "cmd/cmd.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_SANITIZER true
#else
#define HAVE_SANITIZER false
#endif

/* What this build can do, whatever the kernel can: that is what probe tells. */
static const struct {
	const char *name;
	bool have;
} features[] = {
	{ "twin", true },
	{ "tcx", true }, /* own system calls: libbpf below 1.3 knows no tcx */
#if defined(__x86_64__) || defined(__aarch64__)
	{ "exec", true },
#else
	{ "exec", false },
#endif
	{ "sanitizer", HAVE_SANITIZER },
};

int cmd_version(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return bt_usage(bt_cmd_find("version"), "takes no arguments");
	bt_obj_open(NULL);
	bt_print_str("version", "bigtcp %s\n", BIGTCP_VERSION);
	bt_print_str("libbpf_version", "libbpf %s\n", libbpf_version_string());
	bt_text("features:");
	bt_obj_open("features");
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		bt_print_bool(features[i].name, NULL, features[i].have);
		if (features[i].have)
			bt_text(" %s", features[i].name);
	}
	bt_obj_close();
	bt_text("\n");
	bt_obj_close();
	return BT_EXIT_OK;
}
