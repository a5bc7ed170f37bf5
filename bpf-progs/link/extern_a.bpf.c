//# target: self
// Everything from elsewhere: a variable, functions, a map; types only declared.
#include "link.h"

struct state;
struct pair {
	int first;
	struct state *second;
};

extern int counter;
extern const char banner[16];
extern struct pair shared;
extern int bump(struct state *state, int by);
extern int unused_function(int x);
extern struct {
	MAP_UINT(type, 1);
	MAP_UINT(max_entries, 16);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} table IN(".maps");

struct {
	MAP_UINT(type, 2);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} own SEC(".maps");

SEC("raw_tp/extern_a") int extern_a(void *ctx)
{
	u32 key = counter + banner[2];
	u64 *value = map_lookup_elem(&table, &key);
	u64 *mine = map_lookup_elem(&own, &key);

	if (value && mine)
		*value += *mine + shared.first;
	return bump(shared.second, 3);
}
