// kernel: 6.1
#include "libbpf.h"
struct task_struct___own { int absent; } CORE;

extern int core_relo_no_such_kfunc(int pid) __ksym;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0];

	result = core_relo_no_such_kfunc(task->absent);
	return 0;
}
