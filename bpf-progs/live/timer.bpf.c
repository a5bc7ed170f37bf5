//# target: kernels
//# requires: clang>=14
// A timer, started by each run, that counts when it fires.
#include "live.h"

static long (*const timer_init)(void *timer, void *map, u64 flags) = (void *)169;
static long (*const timer_set_callback)(void *timer, void *callback) = (void *)170;
static long (*const timer_start)(void *timer, u64 nanoseconds, u64 flags) = (void *)171;

struct bpf_timer {
	u64 hidden[2];
} __attribute__((aligned(8)));

struct entry {
	struct bpf_timer timer;
};

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct entry);
} timers SEC(".maps");

u64 fired;

static int expired(void *map, u32 *key, struct entry *entry)
{
	fired++;
	return 0;
}

SEC("tc") int start(void *ctx)
{
	struct entry *entry;
	u32 key = 0;

	entry = map_lookup_elem(&timers, &key);
	if (!entry)
		return 1;
	hits++;
	timer_init(&entry->timer, &timers, 1 /* CLOCK_MONOTONIC */);
	timer_set_callback(&entry->timer, expired);
	return timer_start(&entry->timer, 1000000, 0) ? 1 : 0;
}
