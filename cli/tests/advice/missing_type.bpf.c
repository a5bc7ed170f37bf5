// kernel: 5.10
#include "libbpf.h"
/* DECLARATIONS */

struct core_relo_no_such_type {
	u32 member;
} CORE;

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct core_relo_no_such_type *value = (void *)ctx[0];

	if (bpf_ktime_get_ns() == 0)
		return 1;
	result = BPF_CORE_READ(value, member);
	return 0;
}
