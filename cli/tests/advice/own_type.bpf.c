// kernel: 6.1
#include "libbpf.h"
struct own_value { u64 count; u64 total; } CORE;
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct own_value);
} values SEC(".maps");
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	u32 key = 0;
	struct own_value *value = bpf_map_lookup_elem(&values, &key);

	if (value)
		value->total += 1;
	return 0;
}
