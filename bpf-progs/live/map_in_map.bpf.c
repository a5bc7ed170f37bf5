//# target: kernels
//# requires: clang>=14
// A map of maps, filled by the object itself in entry 0 and by user space in entry 1.
#include "live.h"

struct inner {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} first SEC(".maps");

struct {
	MAP_UINT(type, MAP_ARRAY_OF_MAPS);
	MAP_UINT(max_entries, 2);
	MAP_UINT(key_size, 4);
	struct inner *values[];
} outer SEC(".maps") = {
	.values = { &first },
};

u64 from_first, from_second;

SEC("tc") int look(void *ctx)
{
	u32 key = 0, second = 1;
	u64 *value;
	void *map;

	hits++;
	map = map_lookup_elem(&outer, &key);
	value = map ? map_lookup_elem(map, &key) : (void *)0;
	if (value)
		from_first = *value;
	map = map_lookup_elem(&outer, &second);
	value = map ? map_lookup_elem(map, &key) : (void *)0;
	if (value)
		from_second = *value;
	return 0;
}
