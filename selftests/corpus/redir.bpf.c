// SPDX-License-Identifier: GPL-2.0
/*
 * Service redirection by TCP or UDP destination port, in three variants: to a device
 * (bpf_redirect), to the device's peer in another namespace (bpf_redirect_peer), and to a device
 * with neighbour resolution (bpf_redirect_neigh). A port without an entry, or with ifindex 0,
 * goes its normal way, and so does everything that is not recognised.
 */
/* expect: redir audit=bypasses twin=made kernel=6.1 */
/* expect: redir_peer audit=bypasses twin=made kernel=6.1 */
/* expect: redir_neigh audit=bypasses twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=8443 */
#include "corpus.h"

struct target {
	__u32 ifindex;
	__u32 flags; /* BPF_F_INGRESS, for bpf_redirect */
	__u64 packets;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __be16);
	__type(value, struct target);
} targets SEC(".maps");

/* The destination port, 0 if there is none. */
static __always_inline __be16 dest_port(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct udphdr *l4; /* TCP has its ports at the same place */
	__u8 proto;

	if ((void *)(eth + 1) > end)
		return 0;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);

		if ((void *)(ip6 + 1) > end)
			return 0;
		proto = ip6->nexthdr;
		l4 = (void *)(ip6 + 1);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl < 5)
			return 0;
		if (ip->frag_off & bpf_htons(0x1fff))
			return 0;
		proto = ip->protocol;
		l4 = (void *)ip + ip->ihl * 4;
	} else {
		return 0;
	}
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return 0;
	if ((void *)(l4 + 1) > end)
		return 0;
	return l4->dest;
}

static __always_inline struct target *find_target(struct __sk_buff *skb)
{
	__be16 port = dest_port(skb);
	struct target *t;

	if (!port)
		return NULL;
	t = bpf_map_lookup_elem(&targets, &port);
	if (!t || !t->ifindex)
		return NULL;
	__sync_fetch_and_add(&t->packets, 1);
	return t;
}

SEC("tc")
int redir(struct __sk_buff *skb)
{
	struct target *t = find_target(skb);

	if (!t)
		return TC_ACT_OK;
	return bpf_redirect(t->ifindex, t->flags & BPF_F_INGRESS);
}

SEC("tc")
int redir_peer(struct __sk_buff *skb)
{
	struct target *t = find_target(skb);

	if (!t)
		return TC_ACT_OK;
	return bpf_redirect_peer(t->ifindex, 0);
}

SEC("tc")
int redir_neigh(struct __sk_buff *skb)
{
	struct target *t = find_target(skb);

	if (!t)
		return TC_ACT_OK;
	return bpf_redirect_neigh(t->ifindex, NULL, 0, 0);
}

/* Port 8443 goes to the device that this program was run for. */
SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	struct target t = { .ifindex = skb->ifindex };
	__be16 port = bpf_htons(8443);

	bpf_map_update_elem(&targets, &port, &t, BPF_ANY);
	return TC_ACT_OK;
}
