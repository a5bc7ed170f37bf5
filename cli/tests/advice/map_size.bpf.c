// kernel: 5.10
#include "libbpf.h"

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, u64);
	/* MAP */
} counts SEC(".maps");

SEC("raw_tp/sys_enter") int prog(void *ctx)
{
	u32 key = 0;

	result = (u64)bpf_map_lookup_elem(&counts, &key);
	return 0;
}
