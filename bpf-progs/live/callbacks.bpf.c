//# target: kernels
//# requires: clang>=14
// A static function that the kernel calls, for each entry of a map: adds twice its value to `sum`.
#include "live.h"

static long (*const for_each_map_elem)(void *map, void *callback, void *ctx, u64 flags) = (void *)164;

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 4);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} numbers SEC(".maps");

u64 sum;

static NOINLINE u64 twice(u64 value)
{
	HIDE(value);
	return value * 2;
}

static long each(void *map, u32 *key, u64 *value, void *ctx)
{
	sum += twice(*value);
	return 0;
}

SEC("tc") int add(void *ctx)
{
	hits++;
	for_each_map_elem(&numbers, each, (void *)0, 0);
	return 0;
}
