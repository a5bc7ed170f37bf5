//# target: kernels
//# requires: clang>=14
// Sends a record to the buffer of its processor on each run.
#include "live.h"

static long (*const perf_event_output)(void *ctx, void *map, u64 flags, void *data, u64 size) = (void *)25;
#define CURRENT_CPU 0xffffffffULL

struct record {
	u64 number, tag;
};

struct {
	MAP_UINT(type, MAP_PERF_EVENT_ARRAY);
	MAP_UINT(key_size, 4);
	MAP_UINT(value_size, 4);
} events SEC(".maps");

u64 tag, dropped;

SEC("tc") int output(struct __sk_buff *skb)
{
	struct record record = { .number = hits, .tag = tag };

	if (perf_event_output(skb, &events, CURRENT_CPU, &record, sizeof(record)))
		dropped++;
	else
		hits++;
	return 0;
}
