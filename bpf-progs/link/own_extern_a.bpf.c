//# target: self
// A map that nobody defines, beside one that is defined: libbpf makes it seem defined where the other is.
#include "link.h"

struct {
	MAP_UINT(type, 2);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} own SEC(".maps");

extern struct {
	MAP_UINT(type, 1);
	MAP_UINT(max_entries, 16);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} nowhere IN(".maps");

PROG(own_extern_a)(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&own, &key) && map_lookup_elem(&nowhere, &key);
}
