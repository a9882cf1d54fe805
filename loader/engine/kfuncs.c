// SPDX-License-Identifier: GPL-2.0
/*
 * Kfuncs by name, as the BTF of 6.1 to 6.18 lists them (declaration tag bpf_kfunc, and the BTF_ID
 * sets of kernels before it). Those that only other program types may call have a row as well, so that a
 * missing row means a kfunc nobody has looked at.
 */
#include <string.h>

#include "engine/effects.h"

#define NONE(n)                               \
	{                                     \
		.name = n, .effect = EFF_NONE \
	}
#define NOT_TC(n)                               \
	{                                       \
		.name = n, .effect = EFF_NOT_TC \
	}
#define NO_CTX(n)                               \
	{                                       \
		.name = n, .effect = EFF_NO_CTX \
	}
#define DYNPTR(n, a)                                      \
	{                                                 \
		.name = n, .effect = EFF_DYNPTR, .arg = a \
	}
#define LATER(n, a)                                         \
	{                                                   \
		.name = n, .effect = EFF_CALLBACK, .arg = a \
	}
#define REFUSE(n, w)                                      \
	{                                                 \
		.name = n, .effect = EFF_REFUSE, .why = w \
	}

static const char why_kern_ctx[] =
	"it reads struct sk_buff itself, whose header offsets do not follow the move; build the "
	"program with <bigtcp/parse.bpf.h>";
static const char why_throw[] =
	"an exception leaves the program without putting the packet back; return a verdict instead";
static const char why_fou[] =
	"it sets up an encapsulation of the packet, which the kernel does not do to jumbo packets; "
	"keep gso_max_size at 65536 on this path";

/* Sorted by name: bsearch() finds them. */
static const struct effect_row kfuncs[] = {
	/* clang-format off */
	NOT_TC("__bpf_trap"),
	NOT_TC("bbr_cwnd_event"),
	NOT_TC("bbr_cwnd_event_tx_start"),
	NOT_TC("bbr_init"),
	NOT_TC("bbr_main"),
	NOT_TC("bbr_min_tso_segs"),
	NOT_TC("bbr_set_state"),
	NOT_TC("bbr_sndbuf_expand"),
	NOT_TC("bbr_ssthresh"),
	NOT_TC("bbr_undo_cwnd"),
	NONE("bpf_arena_alloc_pages"),
	NONE("bpf_arena_free_pages"),
	NONE("bpf_arena_reserve_pages"),
	REFUSE("bpf_cast_to_kern_ctx", why_kern_ctx),
	NONE("bpf_cgroup_acquire"),
	NONE("bpf_cgroup_ancestor"),
	NONE("bpf_cgroup_from_id"),
	NONE("bpf_cgroup_kptr_get"),
	NOT_TC("bpf_cgroup_read_xattr"),
	NONE("bpf_cgroup_release"),
	NOT_TC("bpf_copy_from_user_dynptr"),
	NOT_TC("bpf_copy_from_user_str"),
	NOT_TC("bpf_copy_from_user_str_dynptr"),
	NOT_TC("bpf_copy_from_user_task_dynptr"),
	NOT_TC("bpf_copy_from_user_task_str"),
	NOT_TC("bpf_copy_from_user_task_str_dynptr"),
	NONE("bpf_cpumask_acquire"),
	NONE("bpf_cpumask_and"),
	NONE("bpf_cpumask_any"),
	NONE("bpf_cpumask_any_and"),
	NONE("bpf_cpumask_any_and_distribute"),
	NONE("bpf_cpumask_any_distribute"),
	NONE("bpf_cpumask_clear"),
	NONE("bpf_cpumask_clear_cpu"),
	NONE("bpf_cpumask_copy"),
	NONE("bpf_cpumask_create"),
	NONE("bpf_cpumask_empty"),
	NONE("bpf_cpumask_equal"),
	NONE("bpf_cpumask_first"),
	NONE("bpf_cpumask_first_and"),
	NONE("bpf_cpumask_first_zero"),
	NONE("bpf_cpumask_full"),
	NONE("bpf_cpumask_intersects"),
	NONE("bpf_cpumask_kptr_get"),
	NONE("bpf_cpumask_or"),
	NONE("bpf_cpumask_populate"),
	NONE("bpf_cpumask_release"),
	NONE("bpf_cpumask_set_cpu"),
	NONE("bpf_cpumask_setall"),
	NONE("bpf_cpumask_subset"),
	NONE("bpf_cpumask_test_and_clear_cpu"),
	NONE("bpf_cpumask_test_and_set_cpu"),
	NONE("bpf_cpumask_test_cpu"),
	NONE("bpf_cpumask_weight"),
	NONE("bpf_cpumask_xor"),
	NONE("bpf_crypto_ctx_acquire"),
	NONE("bpf_crypto_ctx_create"),
	NONE("bpf_crypto_ctx_release"),
	NONE("bpf_crypto_decrypt"),
	NONE("bpf_crypto_encrypt"),
	NONE("bpf_ct_change_status"),
	NONE("bpf_ct_change_timeout"),
	NONE("bpf_ct_insert_entry"),
	NONE("bpf_ct_release"),
	NONE("bpf_ct_set_nat_info"),
	NONE("bpf_ct_set_status"),
	NONE("bpf_ct_set_timeout"),
	NONE("bpf_dynptr_adjust"),
	NONE("bpf_dynptr_clone"),
	NONE("bpf_dynptr_copy"),
	DYNPTR("bpf_dynptr_from_skb", 3),
	NONE("bpf_dynptr_from_skb_meta"),
	NOT_TC("bpf_dynptr_from_xdp"),
	NONE("bpf_dynptr_is_null"),
	NONE("bpf_dynptr_is_rdonly"),
	NONE("bpf_dynptr_memset"),
	NONE("bpf_dynptr_size"),
	NONE("bpf_dynptr_slice"),
	NONE("bpf_dynptr_slice_rdwr"),
	NOT_TC("bpf_fentry_test1"),
	NOT_TC("bpf_get_dentry_xattr"),
	NOT_TC("bpf_get_file_xattr"),
	NOT_TC("bpf_get_fsverity_digest"),
	NONE("bpf_get_kmem_cache"),
	NOT_TC("bpf_get_task_exe_file"),
	NONE("bpf_iter_bits_destroy"),
	NONE("bpf_iter_bits_new"),
	NONE("bpf_iter_bits_next"),
	NONE("bpf_iter_css_destroy"),
	NONE("bpf_iter_css_new"),
	NONE("bpf_iter_css_next"),
	NONE("bpf_iter_css_task_destroy"),
	NONE("bpf_iter_css_task_new"),
	NONE("bpf_iter_css_task_next"),
	NONE("bpf_iter_dmabuf_destroy"),
	NONE("bpf_iter_dmabuf_new"),
	NONE("bpf_iter_dmabuf_next"),
	NONE("bpf_iter_kmem_cache_destroy"),
	NONE("bpf_iter_kmem_cache_new"),
	NONE("bpf_iter_kmem_cache_next"),
	NONE("bpf_iter_num_destroy"),
	NONE("bpf_iter_num_new"),
	NONE("bpf_iter_num_next"),
	NOT_TC("bpf_iter_scx_dsq_destroy"),
	NOT_TC("bpf_iter_scx_dsq_new"),
	NOT_TC("bpf_iter_scx_dsq_next"),
	NONE("bpf_iter_task_destroy"),
	NONE("bpf_iter_task_new"),
	NONE("bpf_iter_task_next"),
	NONE("bpf_iter_task_vma_destroy"),
	NONE("bpf_iter_task_vma_new"),
	NONE("bpf_iter_task_vma_next"),
	NOT_TC("bpf_key_put"),
	NOT_TC("bpf_kfree_skb"),
	NOT_TC("bpf_kfunc_call_memb_release"),
	NOT_TC("bpf_kfunc_call_test_release"),
	NONE("bpf_list_back"),
	NONE("bpf_list_front"),
	NONE("bpf_list_pop_back"),
	NONE("bpf_list_pop_front"),
	NONE("bpf_list_push_back"),
	NONE("bpf_list_push_back_impl"),
	NONE("bpf_list_push_front"),
	NONE("bpf_list_push_front_impl"),
	NONE("bpf_local_irq_restore"),
	NONE("bpf_local_irq_save"),
	NOT_TC("bpf_lookup_system_key"),
	NOT_TC("bpf_lookup_user_key"),
	NONE("bpf_map_sum_elem_count"),
	NOT_TC("bpf_modify_return_test"),
	NOT_TC("bpf_modify_return_test2"),
	NOT_TC("bpf_modify_return_test_tp"),
	NONE("bpf_obj_drop"),
	NONE("bpf_obj_drop_impl"),
	NONE("bpf_obj_new"),
	NONE("bpf_obj_new_impl"),
	NOT_TC("bpf_path_d_path"),
	NONE("bpf_percpu_obj_drop_impl"),
	NONE("bpf_percpu_obj_new_impl"),
	NONE("bpf_preempt_disable"),
	NONE("bpf_preempt_enable"),
	NO_CTX("bpf_probe_read_kernel_dynptr"),
	NO_CTX("bpf_probe_read_kernel_str_dynptr"),
	NO_CTX("bpf_probe_read_user_dynptr"),
	NO_CTX("bpf_probe_read_user_str_dynptr"),
	NOT_TC("bpf_put_file"),
	NOT_TC("bpf_qdisc_bstats_update"),
	NOT_TC("bpf_qdisc_skb_drop"),
	NOT_TC("bpf_qdisc_watchdog_schedule"),
	LATER("bpf_rbtree_add", 3),
	LATER("bpf_rbtree_add_impl", 3),
	NONE("bpf_rbtree_first"),
	NONE("bpf_rbtree_left"),
	NONE("bpf_rbtree_remove"),
	NONE("bpf_rbtree_right"),
	NONE("bpf_rbtree_root"),
	NONE("bpf_rcu_read_lock"),
	NONE("bpf_rcu_read_unlock"),
	NO_CTX("bpf_rdonly_cast"),
	NONE("bpf_refcount_acquire_impl"),
	NOT_TC("bpf_remove_dentry_xattr"),
	NONE("bpf_res_spin_lock"),
	NONE("bpf_res_spin_lock_irqsave"),
	NONE("bpf_res_spin_unlock"),
	NONE("bpf_res_spin_unlock_irqrestore"),
	NOT_TC("bpf_send_signal_task"),
	NOT_TC("bpf_session_cookie"),
	NOT_TC("bpf_session_is_return"),
	NOT_TC("bpf_set_dentry_xattr"),
	NONE("bpf_sk_assign_tcp_reqsk"),
	NONE("bpf_skb_ct_alloc"),
	NONE("bpf_skb_ct_lookup"),
	NONE("bpf_skb_get_fou_encap"),
	NOT_TC("bpf_skb_get_hash"),
	NONE("bpf_skb_get_xfrm_info"),
	REFUSE("bpf_skb_set_fou_encap", why_fou),
	NONE("bpf_skb_set_xfrm_info"),
	NOT_TC("bpf_sock_addr_set_sun_path"),
	NOT_TC("bpf_sock_destroy"),
	NOT_TC("bpf_sock_ops_enable_tx_tstamp"),
	NONE("bpf_strcasecmp"),
	NONE("bpf_strcasestr"),
	NONE("bpf_strchr"),
	NONE("bpf_strchrnul"),
	NONE("bpf_strcmp"),
	NONE("bpf_strcspn"),
	NONE("bpf_stream_vprintk"),
	NONE("bpf_stream_vprintk_impl"),
	NONE("bpf_strlen"),
	NONE("bpf_strncasecmp"),
	NONE("bpf_strncasestr"),
	NONE("bpf_strnchr"),
	NONE("bpf_strnlen"),
	NONE("bpf_strnstr"),
	NONE("bpf_strrchr"),
	NONE("bpf_strspn"),
	NONE("bpf_strstr"),
	NONE("bpf_task_acquire"),
	NONE("bpf_task_acquire_not_zero"),
	NONE("bpf_task_from_pid"),
	NONE("bpf_task_from_vpid"),
	NONE("bpf_task_get_cgroup1"),
	NONE("bpf_task_kptr_get"),
	NONE("bpf_task_release"),
	NONE("bpf_task_under_cgroup"),
	NOT_TC("bpf_task_work_schedule_resume"),
	NOT_TC("bpf_task_work_schedule_resume_impl"),
	NOT_TC("bpf_task_work_schedule_signal"),
	NOT_TC("bpf_task_work_schedule_signal_impl"),
	REFUSE("bpf_throw", why_throw),
	NOT_TC("bpf_verify_pkcs7_signature"),
	NONE("bpf_wq_init"),
	LATER("bpf_wq_set_callback", 2),
	LATER("bpf_wq_set_callback_impl", 2),
	NONE("bpf_wq_start"),
	NOT_TC("bpf_xdp_ct_alloc"),
	NOT_TC("bpf_xdp_ct_lookup"),
	NOT_TC("bpf_xdp_get_xfrm_state"),
	NOT_TC("bpf_xdp_metadata_rx_hash"),
	NOT_TC("bpf_xdp_metadata_rx_timestamp"),
	NOT_TC("bpf_xdp_metadata_rx_vlan_tag"),
	NOT_TC("bpf_xdp_pull_data"),
	NOT_TC("bpf_xdp_xfrm_state_release"),
	NOT_TC("crash_kexec"),
	NOT_TC("css_rstat_flush"),
	NOT_TC("css_rstat_updated"),
	NOT_TC("cubictcp_acked"),
	NOT_TC("cubictcp_cong_avoid"),
	NOT_TC("cubictcp_cwnd_event"),
	NOT_TC("cubictcp_cwnd_event_tx_start"),
	NOT_TC("cubictcp_init"),
	NOT_TC("cubictcp_recalc_ssthresh"),
	NOT_TC("cubictcp_state"),
	NOT_TC("dctcp_cwnd_event"),
	NOT_TC("dctcp_cwnd_undo"),
	NOT_TC("dctcp_init"),
	NOT_TC("dctcp_ssthresh"),
	NOT_TC("dctcp_state"),
	NOT_TC("dctcp_update_alpha"),
	NOT_TC("hid_bpf_get_data"),
	NOT_TC("hid_bpf_hw_request"),
	NOT_TC("tcp_cong_avoid_ai"),
	NOT_TC("tcp_reno_cong_avoid"),
	NOT_TC("tcp_reno_ssthresh"),
	NOT_TC("tcp_reno_undo_cwnd"),
	NOT_TC("tcp_slow_start"),
	/* clang-format on */
};

static const struct effect_row unknown = { .name = "", .effect = EFF_UNKNOWN };

unsigned int effect_kfunc_count(void)
{
	return sizeof(kfuncs) / sizeof(kfuncs[0]);
}

const struct effect_row *effect_kfunc_row(unsigned int i)
{
	return i < effect_kfunc_count() ? &kfuncs[i] : &unknown;
}

const struct effect_row *effect_of_kfunc(const char *name)
{
	unsigned int lo = 0, hi = effect_kfunc_count();

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;
		int cmp = strcmp(name, kfuncs[mid].name);

		if (!cmp)
			return &kfuncs[mid];
		if (cmp < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return &unknown;
}
