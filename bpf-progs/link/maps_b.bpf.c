//# target: self
// The maps themselves, with what is in them.
#include "link.h"

char LICENSE[] SEC("license") = "GPL";
u32 VERSION SEC("version") = 0x50a00;

struct inner {
	MAP_UINT(type, 2);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
};

struct inner first SEC(".maps"), other SEC(".maps");

SEC("raw_tp/maps_b") int maps_b(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&first, &key) ? 1 : 0;
}

struct {
	MAP_UINT(type, 12);
	MAP_UINT(max_entries, 2);
	MAP_TYPE(key, u32);
	struct inner *values[];
} outer SEC(".maps") = {
	.values = { &first, &other },
};

struct {
	MAP_UINT(type, 3);
	MAP_UINT(max_entries, 4);
	MAP_UINT(key_size, 4);
	int (*values[])(void *ctx);
} tails SEC(".maps") = {
	.values = { [2] = maps_b },
};
