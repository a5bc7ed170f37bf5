//# target: kernels
//# requires: clang>=14
// Says of every packet that it goes from port 0x0101 to port 0x0202.
#include "live.h"

struct bpf_flow_keys {
	u16 nhoff, thoff, addr_proto;
	u8 is_frag, is_first_frag, is_encap, ip_proto;
	u16 n_proto, sport, dport;
};

SEC("flow_dissector") int dissect(struct __sk_buff *skb)
{
	struct bpf_flow_keys *keys = skb->flow_keys;

	hits++;
	keys->ip_proto = 17;
	/* Ports are in network byte order; these read the same way round in either. */
	keys->sport = 0x0101;
	keys->dport = 0x0202;
	return 0; /* BPF_OK */
}
