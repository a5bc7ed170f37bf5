//# target: kernels
//# requires: clang>=14
// Calls of kernel functions: a task by its number; and one that no kernel has, which is weak.
#include "live.h"

struct task_struct {
	int pid, tgid;
} CORE;

extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;
extern void bpf_core_relo_no_such_kfunc(void) __ksym __weak;

s32 tgid;
u32 has_other;

SEC("tc") int find(void *ctx)
{
	struct task_struct *task = bpf_task_from_pid(only_pid);

	if (bpf_core_relo_no_such_kfunc) {
		has_other = 1;
		bpf_core_relo_no_such_kfunc();
	}
	if (!task)
		return 1;
	hits++;
	tgid = task->tgid;
	bpf_task_release(task);
	return 0;
}
