// kernel: 6.1
#include "libbpf.h"
struct task_struct___own { u64 absent; } CORE;
/* DECLARATIONS */

static __attribute__((noinline)) u64 read_member(struct task_struct___own *task)
{
	return task->absent;
}

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0];

	result = read_member(task) + read_member(task + 1);
	return 0;
}
