// kernel: 6.1
#include "libbpf.h"
struct task_struct___own { int absent; int lost; int pid; } CORE;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0];

	result = task->absent + task->pid + task->lost;
	return 0;
}
