//# target: kernels
//# requires: clang>=14
// Variants for kernels without BTF: the first needs types for its attach target, the second for a relocation in a subprogram, the third
// none. What names the kernel's types is optional or weak.
#include "live.h"
#include "../../build/include/core_relo.h"

struct task_struct {
	int tgid;
} CORE;

extern void bpf_rcu_read_lock(void) __ksym __weak;

const volatile u32 pid_offset OFFSET_OF("task_struct.pid") OPTIONAL = 0xffffffff;

u32 has_kfunc;

static __attribute__((noinline)) u32 task_tgid(void)
{
	struct task_struct *task = (void *)get_current_task();

	return READ(task, tgid);
}

SEC("fentry/do_sys_openat2") VARIANT(open, 1) int open_fentry(u64 *ctx)
{
	COUNT_MINE();
}

SEC("?kprobe/do_sys_openat2") VARIANT(open, 2) int open_kprobe(void *ctx)
{
	if (task_tgid() == only_pid)
		hits++;
	return 0;
}

SEC("?tracepoint/syscalls/sys_enter_openat") VARIANT(open, 3) int open_tp(void *ctx)
{
	has_kfunc = bpf_rcu_read_lock != 0;
	COUNT_MINE();
}
