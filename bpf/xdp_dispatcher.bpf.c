// SPDX-License-Identifier: GPL-2.0
/*
 * The dispatcher of a libxdp chain (its protocol version 2) for programs that move the packet's
 * start or end. libxdp replaces the functions prog0 ... prog9 by the programs of the chain. Since commit
 * 81f6d0530ba0 (6.13, and the stable kernels) a function can only be replaced by one that changes
 * the packet if it could do so itself: "Extension program changes packet data, while original does
 * not". The dispatchers of libxdp before 1.5.5 have no such functions; these are.
 *
 * The names, the values and the layout of conf are libxdp's: <xdp/prog_dispatcher.h>.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <xdp/prog_dispatcher.h>

/* Written by libxdp before the load; then constant, and the verifier leaves out what can't run. */
static volatile const struct xdp_dispatcher_config conf;

/* The result is read from memory, or the compiler would take it for a constant. */
#define SLOT(name)                                             \
	__attribute__((noinline)) int name(struct xdp_md *ctx) \
	{                                                      \
		volatile int ret = XDP_DISPATCHER_RETVAL;      \
                                                               \
		if (!ctx || bpf_xdp_adjust_tail(ctx, 0) == 1)  \
			return XDP_ABORTED;                    \
		return ret;                                    \
	}
SLOT(prog0)
SLOT(prog1)
SLOT(prog2)
SLOT(prog3)
SLOT(prog4)
SLOT(prog5)
SLOT(prog6)
SLOT(prog7)
SLOT(prog8)
SLOT(prog9)
SLOT(compat_test)

#define RUN(i)                                           \
	if (n <= i)                                      \
		return XDP_PASS;                         \
	ret = prog##i(ctx);                              \
	if (!((1U << ret) & conf.chain_call_actions[i])) \
	return ret

SEC("xdp")
int xdp_dispatcher(struct xdp_md *ctx)
{
	__u8 n = conf.num_progs_enabled;
	int ret;

	RUN(0);
	RUN(1);
	RUN(2);
	RUN(3);
	RUN(4);
	RUN(5);
	RUN(6);
	RUN(7);
	RUN(8);
	RUN(9);
	/* Never: libxdp looks whether the kernel lets it replace this one. */
	if (n > MAX_DISPATCHER_ACTIONS)
		compat_test(ctx);
	return XDP_PASS;
}

/* libxdp tries it as replacement. */
SEC("xdp")
int xdp_pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
__uint(dispatcher_version, XDP_DISPATCHER_VERSION) SEC(XDP_METADATA_SECTION);
