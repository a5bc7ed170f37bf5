// kernel: 5.10
#include "libbpf.h"
struct task_struct___own { u32 __state; int absent; } CORE;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0];

	result = task->__state + task->absent;
	return 0;
}
