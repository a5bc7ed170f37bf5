// kernel: 6.1
#include "libbpf.h"
struct percpu_counter { s64 count; } CORE;
struct mm_struct { struct percpu_counter rss_stat[4]; } CORE;
struct task_struct___mm { struct mm_struct *mm; } CORE;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___mm *task = (void *)ctx[0];

	result = task->mm->rss_stat[1].count;
	return 0;
}
