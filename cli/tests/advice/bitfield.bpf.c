// kernel: 6.1
#include "libbpf.h"
struct task_struct___own { int pid; u32 absent : 3; } CORE;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0];

	result = task->absent;
	return 0;
}
