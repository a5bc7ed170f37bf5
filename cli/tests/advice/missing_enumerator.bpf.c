// kernel: 5.10
#include "libbpf.h"
/* DECLARATIONS */

SEC("raw_tp/sys_enter") int prog(void *ctx)
{
	u64 now = bpf_ktime_get_ns();

	if (now == bpf_core_enum_value(enum bpf_map_type, BPF_MAP_TYPE_ARENA))
		return 1;
	result = now;
	return 0;
}
