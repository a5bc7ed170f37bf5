//# target: self
// What extern_a wants.
#include "link.h"

struct state {
	int level;
	struct pair *owner;
};
struct pair {
	int first;
	struct state *second;
};

struct {
	MAP_UINT(type, 1);
	MAP_UINT(max_entries, 64);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, u32);
} another SEC(".maps");

struct {
	MAP_UINT(type, 1);
	MAP_UINT(max_entries, 16);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} table SEC(".maps");

char odd = 1;
int counter = 5;
const char banner[16] = "of this file";
struct pair shared = { 1, 0 };

NOINLINE int bump(struct state *state, int by)
{
	struct state local = { by, 0 };

	if (state)
		local.level += 1;
	counter += local.level;
	return counter;
}

SEC("raw_tp/extern_b") int extern_b(void *ctx)
{
	u64 key = 0;
	u32 *value = map_lookup_elem(&another, &key);

	return value ? *value : odd;
}
