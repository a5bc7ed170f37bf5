//# target: kernels
//# requires: clang>=14
// Packets both ways at an interface, by links.
#include "live.h"

enum {
	TCX_NEXT = -1,
};

u64 in, out;

SEC("tcx/ingress") int ingress(struct __sk_buff *skb)
{
	hits++;
	in += skb->len;
	return TCX_NEXT;
}

SEC("tcx/egress") int egress(struct __sk_buff *skb)
{
	hits++;
	out += skb->len;
	return TCX_NEXT;
}
