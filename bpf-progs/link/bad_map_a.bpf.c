//# target: self
// A map that bad_map_b defines with more entries.
#include "link.h"

extern struct {
	MAP_UINT(type, 1);
	MAP_UINT(max_entries, 16);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} table IN(".maps");

PROG(bad_map_a)(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&table, &key) ? 1 : 0;
}
