//# target: kernels
//# requires: clang>=14
// Of the sockets that share a port, the one in entry `chosen` gets the packet.
#include "live.h"

static long (*const sk_select_reuseport)(void *ctx, void *map, void *key, u64 flags) = (void *)82;

struct {
	MAP_UINT(type, MAP_REUSEPORT_SOCKARRAY);
	MAP_UINT(max_entries, 4);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} sockets SEC(".maps");

u32 chosen;

SEC("sk_reuseport") int choose(void *ctx)
{
	u32 key = chosen;

	hits++;
	return sk_select_reuseport(ctx, &sockets, &key, 0) ? 0 : 1; /* SK_DROP, SK_PASS */
}
