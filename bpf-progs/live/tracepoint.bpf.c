//# target: kernels
//# requires: clang>=14
// Two tracepoints by name: a system call, and the scheduler.
#include "live.h"

struct sys_enter {
	u16 type;
	u8 flags, preempt_count;
	s32 pid;
	s32 nr;
};

u64 switches;
s32 last_nr;

SEC("tracepoint/syscalls/sys_enter_getppid") int getppid(struct sys_enter *ctx)
{
	if (mine()) {
		hits++;
		last_nr = ctx->nr;
	}
	return 0;
}

SEC("tp/sched/sched_switch") int sched_switch(void *ctx)
{
	if (mine())
		switches++;
	return 0;
}
