//# target: self
// Not the size that bad_map_a takes it for.
#include "link.h"

struct {
	MAP_UINT(type, 1);
	MAP_UINT(max_entries, 32);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} table SEC(".maps");

PROG(bad_map_b)(void *ctx)
{
	u32 key = 0;

	return map_lookup_elem(&table, &key) ? 1 : 0;
}
