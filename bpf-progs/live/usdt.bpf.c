//# target: kernels
//# requires: clang>=14
// A probe that a program's author put in. Where its arguments are, user space says in maps of libbpf's layout. The program is written with
// the headers of core-relo-build.
#include "../../build/include/bpf/bpf_helpers.h"

/* The live test is for x86. */
#define __TARGET_ARCH_x86
struct pt_regs {
	unsigned long r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, eflags, rsp, ss;
};

#include "../../build/include/bpf/usdt.bpf.h"

/* As in live.h. */
__u64 hits;
__u32 only_pid;

__u64 cookie;
__s32 arguments;
__u64 argument;

SEC("usdt") int BPF_USDT(hit, __u64 first)
{
	if ((__u32)(bpf_get_current_pid_tgid() >> 32) != only_pid)
		return 0;
	hits++;
	argument = first;
	arguments = bpf_usdt_arg_cnt(ctx);
	cookie = bpf_usdt_cookie(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
