// A use of each macro of bpf_tracing.h.
#include <bpf/bpf_helpers.h>

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

struct pt_regs {
	unsigned long rdi, rsi, rdx, rcx, r8, r9, r10, rax, rbp, rsp, rip;
} __attribute__((preserve_access_index));

#include <bpf/bpf_tracing.h>

__u64 sum;

#ifdef LIBBPF
#include <bpf/bpf_core_read.h>
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

SEC("uprobe")
int BPF_UPROBE(on_function, int a, int b, int c, int d, int e)
{
	sum += a + b + c + d + e + PT_REGS_PARM3_CORE(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
