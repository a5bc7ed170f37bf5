// kernel: 6.1
#include "libbpf.h"
struct task_struct___own { int absent; struct task_struct *parent; } CORE;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0], *other = (void *)task->parent;

	result = BPF_CORE_READ(task, absent) - BPF_CORE_READ(other, absent);
	return 0;
}
