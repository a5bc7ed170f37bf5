//# target: kernels
//# requires: clang>=14
// All maps: four bytes, the id, for each.
#include "live.h"

static long (*const seq_write)(void *seq, const void *data, u32 size) = (void *)127;

struct bpf_map {
	u32 id;
} CORE;

struct bpf_iter_meta {
	void *seq;
} CORE;

struct bpf_iter__bpf_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
} CORE;

SEC("iter/bpf_map") int dump(struct bpf_iter__bpf_map *ctx)
{
	struct bpf_map *map = ctx->map;
	u32 id;

	if (!map)
		return 0;
	hits++;
	id = map->id;
	seq_write(ctx->meta->seq, &id, sizeof(id));
	return 0;
}
