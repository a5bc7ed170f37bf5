//# target: kernels
//# requires: clang>=14
// What a socket sends goes to the receiving side of the socket in entry `to`.
#include "live.h"

static long (*const msg_redirect_map)(void *msg, void *map, u32 key, u64 flags) = (void *)60;

struct {
	MAP_UINT(type, MAP_SOCKMAP);
	MAP_UINT(max_entries, 4);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} sockets SEC(".maps");

u32 to;

SEC("sk_msg") int verdict(void *msg)
{
	hits++;
	return msg_redirect_map(msg, &sockets, to, 1 /* BPF_F_INGRESS */);
}
