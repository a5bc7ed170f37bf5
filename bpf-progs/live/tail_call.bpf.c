//# target: kernels
//# requires: clang>=14
// A program that goes on in another: entry 0 of the map is filled by the object itself. A table of variants may fill it with `other`.
#include "live.h"

static long (*const tail_call)(void *ctx, void *map, u32 index) = (void *)12;

int next(struct __sk_buff *skb);

struct {
	MAP_UINT(type, MAP_PROG_ARRAY);
	MAP_UINT(max_entries, 2);
	MAP_UINT(key_size, 4);
	int (*values[])(struct __sk_buff *);
} programs SEC(".maps") = {
	.values = { next },
};

u32 entry;

SEC("tc") int next(struct __sk_buff *skb)
{
	hits++;
	return 7;
}

SEC("?tc") int other(struct __sk_buff *skb)
{
	hits++;
	return 9;
}

SEC("tc") int start(struct __sk_buff *skb)
{
	tail_call(skb, &programs, entry);
	return 1;
}
