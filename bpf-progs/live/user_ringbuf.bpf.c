//# target: kernels
//# requires: clang>=14
// Takes the records user space sent, on each run: counts them and adds up what they begin with.
#include "live.h"

static long (*const user_ringbuf_drain)(void *map, void *callback, void *ctx, u64 flags) = (void *)209;
static long (*const dynptr_read)(void *to, u32 size, const void *from, u32 offset, u64 flags) = (void *)201;

struct {
	MAP_UINT(type, MAP_USER_RINGBUF);
	MAP_UINT(max_entries, 64 * 1024);
} requests SEC(".maps");

u64 sum;

static long take(void *record, void *ctx)
{
	u64 value = 0;

	if (!dynptr_read(&value, sizeof(value), record, 0, 0))
		sum += value;
	hits++;
	return 0;
}

SEC("tc") int drain(void *ctx)
{
	user_ringbuf_drain(&requests, take, (void *)0, 0);
	return 0;
}
