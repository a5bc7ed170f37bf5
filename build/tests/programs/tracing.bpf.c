// A use of each macro of bpf_tracing.h.
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

#include "registers.h"
#include <bpf/bpf_tracing.h>

__u64 sum;

/* The machine has no frame pointer. */
#ifdef bpf_target_sparc
#define FP_ 0
#else
#define FP_ PT_REGS_FP_CORE(ctx)
#endif

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	sum += preempt + prev->pid + next->pid;
	return 0;
}

SEC("fentry/do_unlinkat")
int BPF_PROG(no_arguments)
{
	sum++;
	return 0;
}

struct pair {
	long a, b;
};

SEC("fentry/do_unlinkat")
int BPF_PROG2(with_structs, struct pair, pair, char, c, struct task_struct *, task, short, s, int, i)
{
	sum += pair.a + pair.b + c + task->pid + s + i;
	return 0;
}

SEC("kprobe/do_unlinkat")
int BPF_KPROBE(on_unlink, int directory, const char *name)
{
	sum += directory + (long)name + PT_REGS_IP(ctx);
	return 0;
}

SEC("kretprobe/do_unlinkat")
int BPF_KRETPROBE(on_unlinked, long result)
{
	sum += result;
	return 0;
}

SEC("ksyscall/unlinkat")
int BPF_KSYSCALL(on_call, int directory, const char *name, int flags, long fourth)
{
	sum += directory + (long)name + flags + fourth;
	return 0;
}

SEC("ksyscall/mmap")
int BPF_KSYSCALL(on_long_call, long a, long b, long c, long d, long e, long f)
{
	sum += a + b + c + d + e + f;
	return 0;
}

SEC("kprobe/do_unlinkat")
int registers(struct pt_regs *ctx)
{
	struct pt_regs *call = PT_REGS_SYSCALL_REGS(ctx);
	unsigned long ip = 0;

	sum += PT_REGS_PARM1_CORE_SYSCALL(call) + PT_REGS_PARM2_CORE_SYSCALL(call) + PT_REGS_PARM3_CORE_SYSCALL(call);
	sum += PT_REGS_PARM4_CORE_SYSCALL(call) + PT_REGS_PARM5_CORE_SYSCALL(call) + PT_REGS_PARM6_CORE_SYSCALL(call);
	sum += PT_REGS_PARM2_SYSCALL(ctx) + PT_REGS_PARM3_SYSCALL(ctx) + PT_REGS_PARM4_SYSCALL(ctx);
	sum += PT_REGS_PARM5_SYSCALL(ctx) + PT_REGS_PARM6_SYSCALL(ctx);
	BPF_KPROBE_READ_RET_IP(ip, ctx);
	sum += ip + PT_REGS_RC(ctx) + FP_ + PT_REGS_SP_CORE(ctx) + PT_REGS_IP_CORE(ctx) + PT_REGS_RET_CORE(ctx);
	BPF_KRETPROBE_READ_RET_IP(ip, ctx);
	sum += ip;
	return 0;
}

SEC("uprobe")
int BPF_UPROBE(on_function, int a, int b, int c, int d)
{
	sum += a + b + c + d + PT_REGS_PARM3_CORE(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
