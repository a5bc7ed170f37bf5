//# target: kernels
//# requires: clang>=14
// A program with a function that freplace replaces.
#include "live.h"

NOINLINE int replaced(struct __sk_buff *skb)
{
	HIDE(skb);
	return skb->len ? 1 : 0;
}

SEC("tc") int whole(struct __sk_buff *skb)
{
	hits++;
	return replaced(skb);
}
