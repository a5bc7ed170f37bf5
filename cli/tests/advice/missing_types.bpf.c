// kernel: 6.1
#include "libbpf.h"
struct core_relo_absent { int one, other; } CORE;
enum core_relo_lost { ONE = 1, OTHER = 2 };
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct core_relo_absent *absent = (void *)ctx[0];

	result = BPF_CORE_READ(absent, one) + bpf_core_enum_value(enum core_relo_lost, ONE) + bpf_core_enum_value(enum core_relo_lost, OTHER);
	return 0;
}
