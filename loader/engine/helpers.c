// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers by id (include/uapi/linux/bpf.h, __BPF_FUNC_MAPPER). Who may call what: tc_cls_act_func_proto(),
 * bpf_sk_base_func_proto() and bpf_base_func_proto() of 6.1, 6.12 and 6.18.
 */
#include "engine/effects.h"

#define NONE(n)                               \
	{                                     \
		.name = n, .effect = EFF_NONE \
	}
#define NOT_TC(n)                               \
	{                                       \
		.name = n, .effect = EFF_NOT_TC \
	}
#define OFFSET(n, a)                                      \
	{                                                 \
		.name = n, .effect = EFF_OFFSET, .arg = a \
	}
#define OFFSET_NZ(n, a)                                      \
	{                                                    \
		.name = n, .effect = EFF_OFFSET_NZ, .arg = a \
	}
#define AROUND(n, args)                                        \
	{                                                      \
		.name = n, .effect = EFF_AROUND, .nargs = args \
	}
#define HASH(n, args)                                        \
	{                                                    \
		.name = n, .effect = EFF_HASH, .nargs = args \
	}
#define CAPTURE(n, a, args)                                               \
	{                                                                 \
		.name = n, .effect = EFF_CAPTURE, .arg = a, .nargs = args \
	}
#define TAIL_CALL(n, args)                                        \
	{                                                         \
		.name = n, .effect = EFF_TAIL_CALL, .nargs = args \
	}
#define SEGS(n, a)                                      \
	{                                               \
		.name = n, .effect = EFF_SEGS, .arg = a \
	}
#define NO_CTX(n)                               \
	{                                       \
		.name = n, .effect = EFF_NO_CTX \
	}
#define CALLBACK(n, a, from, to)                                                          \
	{                                                                                 \
		.name = n, .effect = EFF_CALLBACK, .arg = a, .cb_from = from, .cb_to = to \
	}
#define REFUSE(n, w)                                      \
	{                                                 \
		.name = n, .effect = EFF_REFUSE, .why = w \
	}

static const char why_room[] =
	"the kernel then marks the packet SKB_GSO_DODGY, drops its jumbo header on the way to a "
	"veth, and the receiver drops the packet; load the program with gso_max_size at 65536 on "
	"this path";
static const char why_proto[] =
	"it resizes the IPv6 header in place and would leave the jumbo header inside the IPv4 "
	"packet; keep gso_max_size at 65536 for translated traffic";
static const char why_head[] =
	"it puts bytes in front of the packet, after which the place of the jumbo header is not "
	"known until the program has written them; build the program with <bigtcp/parse.bpf.h>";

/* clang-format off */
static const struct effect_row helpers[] = {
	[1] = NONE("map_lookup_elem"),
	[2] = NONE("map_update_elem"),
	[3] = NONE("map_delete_elem"),
	[4] = NO_CTX("probe_read"),
	[5] = NONE("ktime_get_ns"),
	[6] = NONE("trace_printk"),
	[7] = NONE("get_prandom_u32"),
	[8] = NONE("get_smp_processor_id"),
	[9] = OFFSET("skb_store_bytes", 2),
	[10] = OFFSET("l3_csum_replace", 2),
	[11] = OFFSET("l4_csum_replace", 2),
	[12] = TAIL_CALL("tail_call", 3),
	[13] = AROUND("clone_redirect", 3),
	[14] = NONE("get_current_pid_tgid"),
	[15] = NONE("get_current_uid_gid"),
	[16] = NONE("get_current_comm"),
	[17] = NONE("get_cgroup_classid"),
	[18] = AROUND("skb_vlan_push", 3),
	[19] = AROUND("skb_vlan_pop", 1),
	[20] = NONE("skb_get_tunnel_key"),
	[21] = NONE("skb_set_tunnel_key"),
	[22] = NOT_TC("perf_event_read"),
	[23] = NONE("redirect"),
	[24] = NONE("get_route_realm"),
	[25] = CAPTURE("perf_event_output", 3, 5),
	[26] = OFFSET("skb_load_bytes", 2),
	[27] = NOT_TC("get_stackid"),
	[28] = NONE("csum_diff"),
	[29] = NONE("skb_get_tunnel_opt"),
	[30] = NONE("skb_set_tunnel_opt"),
	[31] = REFUSE("skb_change_proto", why_proto),
	[32] = NONE("skb_change_type"),
	[33] = NONE("skb_under_cgroup"),
	[34] = HASH("get_hash_recalc", 1),
	[35] = NONE("get_current_task"),
	[36] = NOT_TC("probe_write_user"),
	[37] = NONE("current_task_under_cgroup"),
	[38] = OFFSET("skb_change_tail", 2),
	[39] = OFFSET_NZ("skb_pull_data", 2),
	[40] = NONE("csum_update"),
	[41] = NONE("set_hash_invalid"),
	[42] = NONE("get_numa_node_id"),
	[43] = REFUSE("skb_change_head", why_head),
	[44] = NOT_TC("xdp_adjust_head"),
	[45] = NO_CTX("probe_read_str"),
	[46] = NONE("get_socket_cookie"),
	[47] = NONE("get_socket_uid"),
	[48] = NONE("set_hash"),
	[49] = NOT_TC("setsockopt"),
	[50] = REFUSE("skb_adjust_room", why_room),
	[51] = NOT_TC("redirect_map"),
	[52] = NOT_TC("sk_redirect_map"),
	[53] = NOT_TC("sock_map_update"),
	[54] = NOT_TC("xdp_adjust_meta"),
	[55] = NOT_TC("perf_event_read_value"),
	[56] = NOT_TC("perf_prog_read_value"),
	[57] = NOT_TC("getsockopt"),
	[58] = NOT_TC("override_return"),
	[59] = NOT_TC("sock_ops_cb_flags_set"),
	[60] = NOT_TC("msg_redirect_map"),
	[61] = NOT_TC("msg_apply_bytes"),
	[62] = NOT_TC("msg_cork_bytes"),
	[63] = NOT_TC("msg_pull_data"),
	[64] = NOT_TC("bind"),
	[65] = NOT_TC("xdp_adjust_tail"),
	[66] = NONE("skb_get_xfrm_state"),
	[67] = NOT_TC("get_stack"),
	[68] = OFFSET("skb_load_bytes_relative", 2),
	[69] = NONE("fib_lookup"),
	[70] = NOT_TC("sock_hash_update"),
	[71] = NOT_TC("msg_redirect_hash"),
	[72] = NOT_TC("sk_redirect_hash"),
	[73] = NOT_TC("lwt_push_encap"),
	[74] = NOT_TC("lwt_seg6_store_bytes"),
	[75] = NOT_TC("lwt_seg6_adjust_srh"),
	[76] = NOT_TC("lwt_seg6_action"),
	[77] = NOT_TC("rc_repeat"),
	[78] = NOT_TC("rc_keydown"),
	[79] = NONE("skb_cgroup_id"),
	[80] = NONE("get_current_cgroup_id"),
	[81] = NOT_TC("get_local_storage"),
	[82] = NOT_TC("sk_select_reuseport"),
	[83] = NONE("skb_ancestor_cgroup_id"),
	[84] = NONE("sk_lookup_tcp"),
	[85] = NONE("sk_lookup_udp"),
	[86] = NONE("sk_release"),
	[87] = NONE("map_push_elem"),
	[88] = NONE("map_pop_elem"),
	[89] = NONE("map_peek_elem"),
	[90] = NOT_TC("msg_push_data"),
	[91] = NOT_TC("msg_pop_data"),
	[92] = NOT_TC("rc_pointer_rel"),
	[93] = NONE("spin_lock"),
	[94] = NONE("spin_unlock"),
	[95] = NONE("sk_fullsock"),
	[96] = NONE("tcp_sock"),
	[97] = AROUND("skb_ecn_set_ce", 1),
	[98] = NONE("get_listener_sock"),
	[99] = NONE("skc_lookup_tcp"),
	[100] = NONE("tcp_check_syncookie"),
	[101] = NOT_TC("sysctl_get_name"),
	[102] = NOT_TC("sysctl_get_current_value"),
	[103] = NOT_TC("sysctl_get_new_value"),
	[104] = NOT_TC("sysctl_set_new_value"),
	[105] = NONE("strtol"),
	[106] = NONE("strtoul"),
	[107] = NONE("sk_storage_get"),
	[108] = NONE("sk_storage_delete"),
	[109] = NOT_TC("send_signal"),
	[110] = NONE("tcp_gen_syncookie"),
	[111] = NOT_TC("skb_output"),
	[112] = NO_CTX("probe_read_user"),
	[113] = NO_CTX("probe_read_kernel"),
	[114] = NO_CTX("probe_read_user_str"),
	[115] = NO_CTX("probe_read_kernel_str"),
	[116] = NOT_TC("tcp_send_ack"),
	[117] = NOT_TC("send_signal_thread"),
	[118] = NONE("jiffies64"),
	[119] = NOT_TC("read_branch_records"),
	[120] = NONE("get_ns_current_pid_tgid"),
	[121] = NOT_TC("xdp_output"),
	[122] = NONE("get_netns_cookie"),
	[123] = NONE("get_current_ancestor_cgroup_id"),
	[124] = NONE("sk_assign"),
	[125] = NONE("ktime_get_boot_ns"),
	[126] = NOT_TC("seq_printf"),
	[127] = NOT_TC("seq_write"),
	[128] = NONE("sk_cgroup_id"),
	[129] = NONE("sk_ancestor_cgroup_id"),
	[130] = NONE("ringbuf_output"),
	[131] = NONE("ringbuf_reserve"),
	[132] = NONE("ringbuf_submit"),
	[133] = NONE("ringbuf_discard"),
	[134] = NONE("ringbuf_query"),
	[135] = NONE("csum_level"),
	[136] = NONE("skc_to_tcp6_sock"),
	[137] = NONE("skc_to_tcp_sock"),
	[138] = NONE("skc_to_tcp_timewait_sock"),
	[139] = NONE("skc_to_tcp_request_sock"),
	[140] = NONE("skc_to_udp6_sock"),
	[141] = NOT_TC("get_task_stack"),
	[142] = NOT_TC("load_hdr_opt"),
	[143] = NOT_TC("store_hdr_opt"),
	[144] = NOT_TC("reserve_hdr_opt"),
	[145] = NOT_TC("inode_storage_get"),
	[146] = NOT_TC("inode_storage_delete"),
	[147] = NOT_TC("d_path"),
	[148] = NOT_TC("copy_from_user"),
	[149] = NONE("snprintf_btf"),
	[150] = NOT_TC("seq_printf_btf"),
	[151] = NONE("skb_cgroup_classid"),
	[152] = NONE("redirect_neigh"),
	[153] = NONE("per_cpu_ptr"),
	[154] = NONE("this_cpu_ptr"),
	[155] = NONE("redirect_peer"),
	[156] = NONE("task_storage_get"),
	[157] = NONE("task_storage_delete"),
	[158] = NONE("get_current_task_btf"),
	[159] = NOT_TC("bprm_opts_set"),
	[160] = NONE("ktime_get_coarse_ns"),
	[161] = NOT_TC("ima_inode_hash"),
	[162] = NOT_TC("sock_from_file"),
	[163] = SEGS("check_mtu", 5),
	[164] = CALLBACK("for_each_map_elem", 2, 3, 4),
	[165] = NONE("snprintf"),
	[166] = NOT_TC("sys_bpf"),
	[167] = NOT_TC("btf_find_by_name_kind"),
	[168] = NOT_TC("sys_close"),
	[169] = NONE("timer_init"),
	[170] = CALLBACK("timer_set_callback", 2, 0, 0),
	[171] = NONE("timer_start"),
	[172] = NONE("timer_cancel"),
	[173] = NOT_TC("get_func_ip"),
	[174] = NOT_TC("get_attach_cookie"),
	[175] = NONE("task_pt_regs"),
	[176] = NOT_TC("get_branch_snapshot"),
	[177] = NONE("trace_vprintk"),
	[178] = NONE("skc_to_unix_sock"),
	[179] = NOT_TC("kallsyms_lookup_name"),
	[180] = NOT_TC("find_vma"),
	[181] = CALLBACK("loop", 2, 3, 2),
	[182] = NONE("strncmp"),
	[183] = NOT_TC("get_func_arg"),
	[184] = NOT_TC("get_func_ret"),
	[185] = NOT_TC("get_func_arg_cnt"),
	[186] = NOT_TC("get_retval"),
	[187] = NOT_TC("set_retval"),
	[188] = NOT_TC("xdp_get_buff_len"),
	[189] = NOT_TC("xdp_load_bytes"),
	[190] = NOT_TC("xdp_store_bytes"),
	[191] = NOT_TC("copy_from_user_task"),
	[192] = NONE("skb_set_tstamp"),
	[193] = NOT_TC("ima_file_hash"),
	[194] = NONE("kptr_xchg"),
	[195] = NONE("map_lookup_percpu_elem"),
	[196] = NONE("skc_to_mptcp_sock"),
	[197] = NONE("dynptr_from_mem"),
	[198] = NONE("ringbuf_reserve_dynptr"),
	[199] = NONE("ringbuf_submit_dynptr"),
	[200] = NONE("ringbuf_discard_dynptr"),
	[201] = NONE("dynptr_read"),
	[202] = NONE("dynptr_write"),
	[203] = NONE("dynptr_data"),
	[204] = NONE("tcp_raw_gen_syncookie_ipv4"),
	[205] = NONE("tcp_raw_gen_syncookie_ipv6"),
	[206] = NONE("tcp_raw_check_syncookie_ipv4"),
	[207] = NONE("tcp_raw_check_syncookie_ipv6"),
	[208] = NONE("ktime_get_tai_ns"),
	[209] = CALLBACK("user_ringbuf_drain", 2, 3, 2),
	[210] = NONE("cgrp_storage_get"),
	[211] = NONE("cgrp_storage_delete"),
};
/* clang-format on */

static const struct effect_row unknown = { .name = "", .effect = EFF_UNKNOWN };

unsigned int effect_helper_count(void)
{
	return sizeof(helpers) / sizeof(helpers[0]);
}

const struct effect_row *effect_of_helper(__s32 id)
{
	if (id < 0 || (unsigned int)id >= effect_helper_count() || !helpers[id].name)
		return &unknown;
	return &helpers[id];
}
