/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CHECK(code, function, what it looks at) of core/preflight.h, in the order they run. Each makes at least one row. No include
 * guard: it is read with several CHECK().
 */
CHECK("hbh", bt_pf_hbh, "what this kernel makes of packets above 64 KiB, seen live")
CHECK("tso-max", bt_pf_tso_max, "the largest size the device's driver takes")
CHECK("frags", bt_pf_frags,
      "how many page fragments a packet has, and how much that is at this MTU")
CHECK("stack", bt_pf_stack, "sizes of the devices below, above, opposite and beside it")
CHECK("tunnel", bt_pf_tunnel, "tunnels: the device itself, and those on it")
CHECK("native-xdp", bt_pf_xdp, "XDP programs that switch the device's offloads off")
CHECK("unsafe-program", bt_pf_programs,
      "programs that misread such packets, on every device they pass")
CHECK("forward", bt_pf_forward, "IPv6 forwarding to devices of the same MTU")
CHECK("qdisc", bt_pf_qdisc, "queueing disciplines and policers with limits in bytes")
CHECK("link-file", bt_pf_link_file, "systemd .link files that set sizes and offloads back")
CHECK("kernel", bt_pf_kernel, "kernels with known faults")
