//# target: kernels
//# requires: clang>=14
// Packets a socket is about to get; `deny` keeps them from it.
#include "live.h"

u64 bytes;
u32 deny;

SEC("socket") int filter(struct __sk_buff *skb)
{
	hits++;
	bytes += skb->len;
	return deny ? 0 : skb->len;
}
