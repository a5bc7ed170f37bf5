/* The programs of live/registers_ARCH.bpf.c: arguments and results of functions in user space, in the kernel and of a system call, read from
 * the registers of one architecture. The file that includes this header defines __TARGET_ARCH_ARCH. The struct has the names of the kernel's
 * own, as vmlinux.h does. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include "../../build/include/bpf/bpf_helpers.h"

#define __VMLINUX_H__
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31], sp, pc, pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
};
#elif defined(__TARGET_ARCH_s390)
typedef struct {
	unsigned long mask, addr;
} psw_t;
typedef struct {
	unsigned long args[1];
	psw_t psw;
	unsigned long gprs[16];
} user_pt_regs;
struct pt_regs {
	user_pt_regs user_regs;
};
#elif defined(__TARGET_ARCH_riscv)
struct user_regs_struct {
	unsigned long pc, ra, sp, gp, tp, t0, t1, t2, s0, s1, a0, a1, a2, a3, a4, a5, a6, a7;
};
struct pt_regs {
	struct user_regs_struct user_regs;
};
#elif defined(__TARGET_ARCH_powerpc)
struct pt_regs {
	unsigned long gpr[32], nip, msr, orig_gpr3, ctr, link;
};
#endif

#include "../../build/include/bpf/bpf_tracing.h"

/* As in live.h. */
__u64 hits;
__u32 only_pid;

/* The arguments of the last call of each program. */
__u64 arguments[5];
__u64 result;

#define MINE ((__u32)(bpf_get_current_pid_tgid() >> 32) == only_pid)

#define STORE(a, b, c, d, e)                  \
	do {                                  \
		if (!MINE)                    \
			return 0;             \
		hits++;                       \
		arguments[0] = (__u64)(a);    \
		arguments[1] = (__u64)(b);    \
		arguments[2] = (__u64)(c);    \
		arguments[3] = (__u64)(d);    \
		arguments[4] = (__u64)(e);    \
		return 0;                     \
	} while (0)

SEC("uprobe") int BPF_UPROBE(call, long a, long b, long c, long d, long e)
{
	STORE(a, b, c, d, e);
}

SEC("uretprobe") int BPF_URETPROBE(back, long value)
{
	if (MINE)
		result = value;
	return 0;
}

/* long do_sys_openat2(int dfd, const char *filename, struct open_how *how) */
SEC("kprobe/do_sys_openat2") int BPF_KPROBE(open, int dfd, const char *filename)
{
	STORE(dfd, filename, 0, 0, 0);
}

SEC("kretprobe/do_sys_openat2") int BPF_KRETPROBE(opened, long value)
{
	if (MINE)
		result = value;
	return 0;
}

SEC("ksyscall/prctl") int BPF_KSYSCALL(system_call, int option, long b, long c, long d, long e)
{
	/* The C library and the test harness name their threads. */
	if (option != 0x7001)
		return 0;
	STORE(option, b, c, d, e);
}

SEC("kretsyscall/prctl") int BPF_KRETPROBE(system_returns, long value)
{
	if (MINE)
		result = value;
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#endif
