// SPDX-License-Identifier: GPL-2.0
/*
 * VLANs by service. vlan_push puts packets of a configured TCP or UDP port into that port's VLAN,
 * vlan_pop takes the tag away again from those it knows, and drops a tagged packet whose VLAN
 * does not belong to its port.
 */
/* expect: vlan_push audit=misreads twin=made kernel=6.1 */
/* expect: vlan_pop audit=misreads twin=made kernel=6.1 */
/* flow: src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=8443 */
#include "corpus.h"

struct service {
	__u16 vid;
	__u16 pad;
	__u32 failed;
	__u64 pushed;
	__u64 popped;
	__u64 untagged;
};

/* Key: the service's port, network byte order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __be16);
	__type(value, struct service);
} services SEC(".maps");

static __always_inline struct service *service_of(struct __sk_buff *skb)
{
	struct service *s;
	__be16 ports[2];
	__u8 proto, ihl;
	__u32 l4;

	/* a tag is not in the packet but beside it, so offsets are the same with one */
	switch (skb->protocol) {
	case bpf_htons(ETH_P_IPV6):
		if (bpf_skb_load_bytes(skb, ETH_HLEN + 6, &proto, 1))
			return NULL;
		l4 = ETH_HLEN + sizeof(struct ipv6hdr);
		break;
	case bpf_htons(ETH_P_IP):
		if (bpf_skb_load_bytes(skb, ETH_HLEN + 9, &proto, 1) ||
		    bpf_skb_load_bytes(skb, ETH_HLEN, &ihl, 1))
			return NULL;
		l4 = ETH_HLEN + (ihl & 0xf) * 4;
		break;
	default:
		return NULL;
	}
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return NULL;
	if (bpf_skb_load_bytes(skb, l4, ports, sizeof(ports)))
		return NULL;
	s = bpf_map_lookup_elem(&services, &ports[1]);
	return s ? s : bpf_map_lookup_elem(&services, &ports[0]);
}

SEC("tc")
int vlan_push(struct __sk_buff *skb)
{
	struct service *s;

	if (skb->vlan_present)
		return TC_ACT_OK;
	s = service_of(skb);
	if (!s)
		return TC_ACT_OK;
	if (bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), s->vid)) {
		__sync_fetch_and_add(&s->failed, 1);
		return TC_ACT_SHOT;
	}
	__sync_fetch_and_add(&s->pushed, 1);
	return TC_ACT_OK;
}

SEC("tc")
int vlan_pop(struct __sk_buff *skb)
{
	struct service *s = service_of(skb);

	if (!s)
		return TC_ACT_OK;
	if (!skb->vlan_present) {
		__sync_fetch_and_add(&s->untagged, 1);
		return TC_ACT_OK;
	}
	if ((skb->vlan_tci & 0xfff) != s->vid)
		return TC_ACT_SHOT;
	if (bpf_skb_vlan_pop(skb)) {
		__sync_fetch_and_add(&s->failed, 1);
		return TC_ACT_SHOT;
	}
	__sync_fetch_and_add(&s->popped, 1);
	return TC_ACT_OK;
}

SEC("tc")
int bt_setup(struct __sk_buff *skb)
{
	struct service s = { .vid = 100 };
	__be16 port = bpf_htons(8443);

	bpf_map_update_elem(&services, &port, &s, BPF_ANY);
	s.vid = 200;
	port = bpf_htons(8080);
	bpf_map_update_elem(&services, &port, &s, BPF_ANY);
	return TC_ACT_OK;
}
