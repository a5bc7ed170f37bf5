//# target: kernels
//# requires: clang>=14
// Packets at a classifier of cls_bpf; `action` is what becomes of them, 0 to pass.
#include "live.h"

u64 bytes;
int action;

SEC("tc") int count(struct __sk_buff *skb)
{
	hits++;
	bytes += skb->len;
	return action;
}

SEC("classifier") int old_name(struct __sk_buff *skb)
{
	hits++;
	return action;
}
