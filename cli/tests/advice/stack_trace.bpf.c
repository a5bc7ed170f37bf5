// kernel: 5.10
#include "libbpf.h"

typedef u64 __u64;

static long (*const bpf_get_stackid)(void *ctx, void *map, u64 flags) = (void *)27;

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(key_size, sizeof(u32));
	__uint(max_entries, 64);
	/* MAP */
} stacks SEC(".maps");

SEC("raw_tp/sys_enter") int prog(void *ctx)
{
	result = (u64)bpf_get_stackid(ctx, &stacks, 0);
	return 0;
}
