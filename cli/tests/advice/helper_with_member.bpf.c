// kernel: 5.10
#include "libbpf.h"
struct task_struct___own { int absent; } CORE;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0];

	return bpf_get_func_ip(ctx) + task->absent;
}
