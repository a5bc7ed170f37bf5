/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Registers in struct pt_regs, the context of kprobes and uprobes. The _CORE macros read relocated addresses. */
#ifndef CORE_RELO_BPF_REGISTERS_H
#define CORE_RELO_BPF_REGISTERS_H

#include "bpf_core_read.h"
#include "bpf_targets.h"

struct pt_regs;

/* Without a machine, the use of a register is an error. */
#ifndef __BPF_TARGET_MISSING
#define __BPF_TARGET_MISSING "GCC error \"the registers depend on the machine: compile with -D__TARGET_ARCH_x86 or the like\""
#endif
#ifdef bpf_target_defined
#define PT_REG_(x, reg) (__PT_REGS_CAST(x)->reg)
#define PT_REG_CORE_(x, reg) BPF_CORE_READ(__PT_REGS_CAST(x), reg)
#else
#define PT_REG_(x, reg) ({ _Pragma(__BPF_TARGET_MISSING); 0l; })
#define PT_REG_CORE_(x, reg) PT_REG_(x, reg)
#endif

#define PT_REGS_PARM1(x) PT_REG_(x, __PT_PARM1_REG)
#define PT_REGS_PARM2(x) PT_REG_(x, __PT_PARM2_REG)
#define PT_REGS_PARM3(x) PT_REG_(x, __PT_PARM3_REG)
#define PT_REGS_PARM4(x) PT_REG_(x, __PT_PARM4_REG)
#define PT_REGS_PARM5(x) PT_REG_(x, __PT_PARM5_REG)
#define PT_REGS_PARM6(x) PT_REG_(x, __PT_PARM6_REG)
#define PT_REGS_PARM7(x) PT_REG_(x, __PT_PARM7_REG)
#define PT_REGS_PARM8(x) PT_REG_(x, __PT_PARM8_REG)
#define PT_REGS_RET(x) PT_REG_(x, __PT_RET_REG)
#define PT_REGS_FP(x) PT_REG_(x, __PT_FP_REG)
#define PT_REGS_RC(x) PT_REG_(x, __PT_RC_REG)
#define PT_REGS_SP(x) PT_REG_(x, __PT_SP_REG)
#define PT_REGS_IP(x) PT_REG_(x, __PT_IP_REG)

#define PT_REGS_PARM1_CORE(x) PT_REG_CORE_(x, __PT_PARM1_REG)
#define PT_REGS_PARM2_CORE(x) PT_REG_CORE_(x, __PT_PARM2_REG)
#define PT_REGS_PARM3_CORE(x) PT_REG_CORE_(x, __PT_PARM3_REG)
#define PT_REGS_PARM4_CORE(x) PT_REG_CORE_(x, __PT_PARM4_REG)
#define PT_REGS_PARM5_CORE(x) PT_REG_CORE_(x, __PT_PARM5_REG)
#define PT_REGS_PARM6_CORE(x) PT_REG_CORE_(x, __PT_PARM6_REG)
#define PT_REGS_PARM7_CORE(x) PT_REG_CORE_(x, __PT_PARM7_REG)
#define PT_REGS_PARM8_CORE(x) PT_REG_CORE_(x, __PT_PARM8_REG)
#define PT_REGS_RET_CORE(x) PT_REG_CORE_(x, __PT_RET_REG)
#define PT_REGS_FP_CORE(x) PT_REG_CORE_(x, __PT_FP_REG)
#define PT_REGS_RC_CORE(x) PT_REG_CORE_(x, __PT_RC_REG)
#define PT_REGS_SP_CORE(x) PT_REG_CORE_(x, __PT_SP_REG)
#define PT_REGS_IP_CORE(x) PT_REG_CORE_(x, __PT_IP_REG)

/*
 * The arguments of a system call. Some kernels overwrite argument 1 with the result, and keep the original in a member that only their
 * own struct pt_regs has: its access is always relocated.
 */
#ifdef PT_REGS_ORIGINAL_
PT_REGS_ORIGINAL_ {
	unsigned long __PT_PARM1_SYSCALL_REG;
} __attribute__((preserve_access_index));
#define PT_REGS_PARM1_SYSCALL(x) (((const PT_REGS_ORIGINAL_ *)(x))->__PT_PARM1_SYSCALL_REG)
#define PT_REGS_PARM1_CORE_SYSCALL(x) BPF_CORE_READ((const PT_REGS_ORIGINAL_ *)(x), __PT_PARM1_SYSCALL_REG)
#else
#define PT_REGS_PARM1_SYSCALL(x) PT_REG_(x, __PT_PARM1_SYSCALL_REG)
#define PT_REGS_PARM1_CORE_SYSCALL(x) PT_REG_CORE_(x, __PT_PARM1_SYSCALL_REG)
#endif
#define PT_REGS_PARM2_SYSCALL(x) PT_REG_(x, __PT_PARM2_SYSCALL_REG)
#define PT_REGS_PARM3_SYSCALL(x) PT_REG_(x, __PT_PARM3_SYSCALL_REG)
#define PT_REGS_PARM4_SYSCALL(x) PT_REG_(x, __PT_PARM4_SYSCALL_REG)
#define PT_REGS_PARM5_SYSCALL(x) PT_REG_(x, __PT_PARM5_SYSCALL_REG)
#define PT_REGS_PARM6_SYSCALL(x) PT_REG_(x, __PT_PARM6_SYSCALL_REG)
#define PT_REGS_PARM7_SYSCALL(x) PT_REG_(x, __PT_PARM7_SYSCALL_REG)
#define PT_REGS_PARM2_CORE_SYSCALL(x) PT_REG_CORE_(x, __PT_PARM2_SYSCALL_REG)
#define PT_REGS_PARM3_CORE_SYSCALL(x) PT_REG_CORE_(x, __PT_PARM3_SYSCALL_REG)
#define PT_REGS_PARM4_CORE_SYSCALL(x) PT_REG_CORE_(x, __PT_PARM4_SYSCALL_REG)
#define PT_REGS_PARM5_CORE_SYSCALL(x) PT_REG_CORE_(x, __PT_PARM5_SYSCALL_REG)
#define PT_REGS_PARM6_CORE_SYSCALL(x) PT_REG_CORE_(x, __PT_PARM6_SYSCALL_REG)
#define PT_REGS_PARM7_CORE_SYSCALL(x) PT_REG_CORE_(x, __PT_PARM7_SYSCALL_REG)

/*
 * The registers of the system call in a kprobe of its function: argument 1 on machines whose kernels have CONFIG_ARCH_HAS_SYSCALL_WRAPPER
 * (riscv since Linux 6.6). BPF_KSYSCALL asks the kernel instead.
 */
#if defined(bpf_target_x86) || defined(bpf_target_arm64) || defined(bpf_target_s390) || defined(bpf_target_riscv)
#define PT_REGS_SYSCALL_REGS(ctx) ((struct pt_regs *)PT_REGS_PARM1(ctx))
#else
#define PT_REGS_SYSCALL_REGS(ctx) (ctx)
#endif

/* Reads the address to which a function returns, at its start and at its end: from the stack, or from a register. */
#if defined(bpf_target_x86) || !defined(bpf_target_defined)
#define BPF_KPROBE_READ_RET_IP(ip, ctx) ({ bpf_probe_read_kernel(&(ip), sizeof(ip), (const void *)PT_REGS_RET(ctx)); })
#define BPF_KRETPROBE_READ_RET_IP(ip, ctx) \
	({ bpf_probe_read_kernel(&(ip), sizeof(ip), (const void *)(PT_REGS_FP(ctx) + sizeof(ip))); })
#else
#define BPF_KPROBE_READ_RET_IP(ip, ctx) ({ (ip) = PT_REGS_RET(ctx); })
#define BPF_KRETPROBE_READ_RET_IP BPF_KPROBE_READ_RET_IP
#endif

#endif
