//# target: kernels
//# requires: clang>=14
// Functions: a static one, and one the verifier checks alone, called from two programs in sections of their own.
#include "live.h"

static NOINLINE u64 twice(u64 value)
{
	HIDE(value);
	return value * 2;
}

NOINLINE int checked_alone(u32 value)
{
	HIDE(value);
	return twice(value) + 1;
}

SEC("tc") int odd(struct __sk_buff *skb)
{
	hits++;
	return twice(skb->len & 1);
}

SEC("socket") int plain(struct __sk_buff *skb)
{
	hits++;
	return checked_alone(20) + (int)twice(skb->len & 1);
}
