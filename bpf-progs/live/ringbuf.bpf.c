//# target: kernels
//# requires: clang>=14
// Sends a record on each run: how many there were before, and `tag`.
#include "live.h"

static void (*const ringbuf_discard)(void *data, u64 flags) = (void *)133;
static long (*const ringbuf_output)(void *ringbuf, void *data, u64 size, u64 flags) = (void *)130;

struct record {
	u64 number, tag;
};

struct {
	MAP_UINT(type, MAP_RINGBUF);
	MAP_UINT(max_entries, 64 * 1024);
} events SEC(".maps");

u64 tag, dropped;

SEC("tc") int reserve(void *ctx)
{
	struct record *record = ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record) {
		dropped++;
		return 0;
	}
	record->number = hits++;
	record->tag = tag;
	ringbuf_submit(record, 0);
	return 0;
}

SEC("tc") int output(void *ctx)
{
	struct record record = { .number = hits, .tag = tag };

	if (ringbuf_output(&events, &record, sizeof(record), 0))
		dropped++;
	else
		hits++;
	return 0;
}

SEC("tc") int discard(void *ctx)
{
	struct record *record = ringbuf_reserve(&events, sizeof(*record), 0);

	if (record)
		ringbuf_discard(record, 0);
	return 0;
}
