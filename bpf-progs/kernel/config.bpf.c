//# target: kernels
// A program that leans on everything but relocations: kconfig values, kernel symbols, kfuncs, globals, a subprogram.
#include "helpers.h"

extern int LINUX_KERNEL_VERSION __attribute__((section(".kconfig")));
extern _Bool CONFIG_BPF_SYSCALL __attribute__((section(".kconfig"), weak));
extern u32 CONFIG_HZ __attribute__((section(".kconfig"), weak));
extern const void init_task __attribute__((section(".ksyms"), weak));
extern const int bpf_prog_active __attribute__((section(".ksyms"), weak));
extern void bpf_rcu_read_lock(void) __attribute__((section(".ksyms"), weak));
extern void bpf_rcu_read_unlock(void) __attribute__((section(".ksyms"), weak));

struct task_struct {
	int pid;
	int prio;
} CORE;

const volatile int verbose = 1;
static volatile u64 zeroed;
volatile u64 filled = 42;
const char text[] = "a string";

NOINLINE u64 pid_of(struct task_struct *task)
{
	return task ? READ(task, pid) : 0;
}

SEC("raw_tp/sys_enter") int config(u64 *ctx)
{
	if (LINUX_KERNEL_VERSION > 0x060000 && CONFIG_BPF_SYSCALL)
		filled += CONFIG_HZ;
	if (verbose)
		zeroed += text[filled & 7];
	zeroed += pid_of((void *)get_current_task());
	if (&init_task)
		zeroed += READ((struct task_struct *)&init_task, prio);
	return 0;
}

SEC("?tp_btf/sys_enter") int locked(u64 *ctx)
{
	if (bpf_rcu_read_lock) {
		bpf_rcu_read_lock();
		bpf_rcu_read_unlock();
	}
	if (&bpf_prog_active)
		zeroed++;
	return 0;
}
