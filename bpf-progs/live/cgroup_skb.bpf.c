//# target: kernels
//# requires: clang>=14
// Packets of the sockets of a cgroup; `deny` drops those that come in.
#include "live.h"

u64 in, out;
u32 deny;

SEC("cgroup_skb/ingress") int ingress(struct __sk_buff *skb)
{
	hits++;
	in += skb->len;
	return deny ? 0 : 1;
}

SEC("cgroup_skb/egress") int egress(struct __sk_buff *skb)
{
	hits++;
	out += skb->len;
	return 1;
}
