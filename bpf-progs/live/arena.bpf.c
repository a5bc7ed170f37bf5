//# target: kernels
//# requires: clang>=19
// Memory shared with user space: a page is taken on the first run, and counted up on each.
#include "live.h"

#define ARENA __attribute__((address_space(1)))

struct {
	MAP_UINT(type, MAP_ARENA);
	MAP_UINT(map_flags, 1 << 10); /* BPF_F_MMAPABLE */
	MAP_UINT(max_entries, 4);     /* pages */
} arena SEC(".maps");

extern void ARENA *bpf_arena_alloc_pages(void *map, void ARENA *at, u32 pages, int node, u64 flags) __ksym __weak;

/* Where the page is for user space. */
u64 address;
u64 ARENA *page;

SEC("syscall") int count(void *ctx)
{
	if (!page)
		page = bpf_arena_alloc_pages(&arena, (void ARENA *)0, 1, -1, 0);
	if (!page)
		return 1;
	address = (u64)page;
	*page += 1;
	hits++;
	return 0;
}
