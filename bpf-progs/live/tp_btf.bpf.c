//# target: kernels
//# requires: clang>=14
// Tracepoints whose arguments have types.
#include "live.h"

struct task_struct {
	int pid, tgid;
} CORE;

u64 switches;

SEC("tp_btf/sys_enter") int enter(u64 *ctx)
{
	COUNT_MINE();
}

SEC("tp_btf/sched_switch") int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];

	if (prev->tgid == only_pid)
		switches++;
	return 0;
}
