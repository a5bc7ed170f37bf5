//# target: kernels
//# requires: clang>=14
// What a socket receives goes to the socket in entry `to` instead.
#include "live.h"

static long (*const sk_redirect_map)(void *skb, void *map, u32 key, u64 flags) = (void *)52;

struct {
	MAP_UINT(type, MAP_SOCKMAP);
	MAP_UINT(max_entries, 4);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} sockets SEC(".maps");

u32 to;

SEC("sk_skb/stream_parser") int parser(struct __sk_buff *skb)
{
	return skb->len;
}

SEC("sk_skb/stream_verdict") int verdict(struct __sk_buff *skb)
{
	hits++;
	return sk_redirect_map(skb, &sockets, to, 0);
}
