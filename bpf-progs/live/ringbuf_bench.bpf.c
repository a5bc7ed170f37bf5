//# target: kernels
//# requires: clang>=14
// Sends records as fast as it can, `BATCH` on each run, in three sizes. `stamp` sends one record with the time.
#include "live.h"

static u64 (*const ktime_get_ns)(void) = (void *)5;
static long (*const perf_event_output)(void *ctx, void *map, u64 flags, void *data, u64 size) = (void *)25;
#define CURRENT_CPU 0xffffffffULL

#define BATCH 256

struct {
	MAP_UINT(type, MAP_RINGBUF);
	MAP_UINT(max_entries, 16 * 1024 * 1024);
} events SEC(".maps");

struct {
	MAP_UINT(type, MAP_PERF_EVENT_ARRAY);
	MAP_UINT(key_size, 4);
	MAP_UINT(value_size, 4);
} samples SEC(".maps");

u64 dropped;
/* The flags of the ring buffer's records. */
u64 flags;

struct record8 {
	u64 number;
};

struct record64 {
	u64 number, rest[7];
};

struct record512 {
	u64 number, rest[63];
};

/* The number only: what else a record has is not the subject. */
#define SEND(size)                                                                                 \
	SEC("tc") int send##size(void *ctx)                                                        \
	{                                                                                          \
		for (int i = 0; i < BATCH; i++) {                                                  \
			struct record##size *record = ringbuf_reserve(&events, sizeof(*record), 0); \
                                                                                                   \
			if (!record) {                                                             \
				dropped++;                                                         \
				continue;                                                          \
			}                                                                          \
			record->number = hits++;                                                   \
			ringbuf_submit(record, flags);                                             \
		}                                                                                  \
		return 0;                                                                          \
	}

SEND(8)
SEND(64)
SEND(512)

SEC("tc") int stamp(void *ctx)
{
	struct record8 *record = ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record) {
		dropped++;
		return 0;
	}
	record->number = ktime_get_ns();
	ringbuf_submit(record, 0);
	hits++;
	return 0;
}

SEC("tc") int sample(struct __sk_buff *skb)
{
	struct record64 record = { .number = hits };

	if (perf_event_output(skb, &samples, CURRENT_CPU, &record, sizeof(record)))
		dropped++;
	else
		hits++;
	return 0;
}
