//# target: kernels
//# requires: clang>=14
// The entries of one hash map; their sum.
#include "live.h"

struct bpf_iter__bpf_map_elem {
	void *meta, *map;
	u32 *key;
	u64 *value;
} CORE;

struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 16);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} counted SEC(".maps");

u64 sum;

SEC("iter/bpf_map_elem") int add(struct bpf_iter__bpf_map_elem *ctx)
{
	u32 *key = ctx->key;
	u64 *value = ctx->value;

	if (!key || !value)
		return 0;
	hits++;
	sum += *value;
	return 0;
}

/* Keeps the map in the object. */
SEC("socket") int touch(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&counted, &key) ? 1 : 0;
}
