// SPDX-License-Identifier: GPL-2.0
/*
 * A filter on a packet socket that copies headers and keeps those of TCP whole, options too, but no
 * payload; bytes are counted by port.
 */
/* expect: sf_load audit=drops twin=made kernel=6.1 */
/* flow: src=2001:db8:1::1 dst=2001:db8:2::2 sport=40000 dport=443 */
#include "corpus.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u16);
	__type(value, __u64);
} sfl_bytes SEC(".maps");

SEC("socket")
int sf_load(struct __sk_buff *skb)
{
	struct ethhdr eth;
	struct ipv6hdr ip6;
	struct tcphdr tcp;
	__u64 *n, bytes;
	__u16 port = 0;
	int keep = 0;

	if (bpf_skb_load_bytes(skb, 0, &eth, sizeof(eth)) || eth.h_proto != bpf_htons(ETH_P_IPV6))
		return 0;
	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip6, sizeof(ip6)))
		return 0;
	if (ip6.nexthdr == IPPROTO_TCP) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN + sizeof(ip6), &tcp, sizeof(tcp)))
			return 0;
		port = bpf_ntohs(tcp.dest);
		keep = ETH_HLEN + sizeof(ip6) + tcp.doff * 4;
	}
	bytes = skb->len - ETH_HLEN - sizeof(ip6);
	n = bpf_map_lookup_elem(&sfl_bytes, &port);
	if (n)
		__sync_fetch_and_add(n, bytes);
	else
		bpf_map_update_elem(&sfl_bytes, &port, &bytes, BPF_ANY);
	return keep;
}
