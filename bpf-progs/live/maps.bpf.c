//# target: kernels
//# requires: clang>=14
// One map of each plain kind, written and read on each run.
#include "live.h"

static long (*const map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;

#define PLAIN(name, kind)                  \
	struct {                           \
		MAP_UINT(type, kind);      \
		MAP_UINT(max_entries, 16); \
		MAP_TYPE(key, u32);        \
		MAP_TYPE(value, u64);      \
	} name SEC(".maps")

PLAIN(array, MAP_ARRAY);
PLAIN(hash, MAP_HASH);
PLAIN(lru_hash, MAP_LRU_HASH);
PLAIN(percpu_array, MAP_PERCPU_ARRAY);
PLAIN(percpu_hash, MAP_PERCPU_HASH);

struct {
	MAP_UINT(type, MAP_QUEUE);
	MAP_UINT(max_entries, 16);
	MAP_TYPE(value, u64);
} queue SEC(".maps");

struct {
	MAP_UINT(type, MAP_STACK);
	MAP_UINT(max_entries, 16);
	MAP_TYPE(value, u64);
} stack SEC(".maps");

struct prefix {
	u32 bits, address;
};

struct {
	MAP_UINT(type, MAP_LPM_TRIE);
	MAP_UINT(map_flags, 1); /* BPF_F_NO_PREALLOC */
	MAP_UINT(max_entries, 16);
	MAP_TYPE(key, struct prefix);
	MAP_TYPE(value, u64);
} trie SEC(".maps");

/* What user space left in entry 3 of the hash, and in the trie for all. */
u64 from_hash, from_trie;

SEC("tc") int touch(void *ctx)
{
	struct prefix all = { .bits = 32 };
	u32 key = 1, theirs = 3;
	u64 value = ++hits, *found;

	map_update_elem(&array, &key, &value, 0);
	map_update_elem(&hash, &key, &value, 0);
	map_update_elem(&lru_hash, &key, &value, 0);
	map_update_elem(&percpu_array, &key, &value, 0);
	map_update_elem(&percpu_hash, &key, &value, 0);
	map_push_elem(&queue, &value, 0);
	map_push_elem(&stack, &value, 0);
	if ((found = map_lookup_elem(&hash, &theirs)))
		from_hash = *found;
	if ((found = map_lookup_elem(&trie, &all)))
		from_trie = *found;
	return 0;
}
