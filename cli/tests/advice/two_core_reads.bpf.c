// kernel: 6.1
#include "libbpf.h"
struct mm_struct { int lost; } CORE;
struct task_struct___own { int absent; struct mm_struct *mm; } CORE;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0];

	result = BPF_CORE_READ(task, absent) + BPF_CORE_READ(task, mm, lost);
	return 0;
}
