//# target: kernels
//# requires: clang>=14
// Packets of a route; `verdict` is what becomes of them: 0 is on, 2 is dropped.
#include "live.h"

u64 in, out, xmit, segments;
u32 verdict;

SEC("lwt_in") int input(struct __sk_buff *skb)
{
	hits++;
	in += skb->len;
	return verdict;
}

SEC("lwt_out") int output(struct __sk_buff *skb)
{
	hits++;
	out += skb->len;
	return verdict;
}

SEC("lwt_xmit") int transmit(struct __sk_buff *skb)
{
	hits++;
	xmit += skb->len;
	return verdict;
}

SEC("lwt_seg6local") int end(struct __sk_buff *skb)
{
	hits++;
	segments += skb->len;
	return verdict;
}
