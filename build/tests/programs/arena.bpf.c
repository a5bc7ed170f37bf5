// A use of each macro of bpf_arena_common.h.
#include <bpf/bpf_helpers.h>

/* As in vmlinux.h. */
enum page_size_enum { __PAGE_SIZE = 4096 };
#include <bpf/bpf_arena_common.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 4);
#ifdef __TARGET_ARCH_arm64
	__ulong(map_extra, 0x1ull << 32);
#else
	__ulong(map_extra, 0x1ull << 44);
#endif
} arena SEC(".maps");

__u64 sum;

struct page_header {
	int count;
	int __arena *next;
};
int __arena *shared;

SEC("syscall") int pages(void *ctx)
{
	struct page_header __arena *page = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0);
	int __arena *count;

	if (!page)
		return 1;
	cast_kern(page);
	WRITE_ONCE(page->count, PAGE_SIZE);
	count = &page->count;
	sum += READ_ONCE(arena_container_of(count, struct page_header __arena, count)->count);
	cast_user(page);
	bpf_arena_free_pages(&arena, page, 1);
	return !ctx;
}

char _license[] SEC("license") = "GPL";
