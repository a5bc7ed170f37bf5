/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The machine for which a program is compiled, bpf_target_x86 and the like, and the members of its struct pt_regs. Compile with
 * -D__TARGET_ARCH_x86 (arm64, arm, riscv, s390, powerpc, mips, loongarch, sparc, arc), as core-relo-build does. The macros of
 * registers are: __PT_PARM1_REG to __PT_PARM8_REG, the arguments of functions; __PT_RC_REG, the result; __PT_FP_REG, the frame pointer;
 * __PT_SP_REG, the stack pointer; __PT_IP_REG, the instruction; __PT_RET_REG, the return address (on x86 where its address is);
 * __PT_PARM1_SYSCALL_REG to __PT_PARM7_SYSCALL_REG, the arguments of system calls.
 */
#ifndef CORE_RELO_BPF_TARGETS_H
#define CORE_RELO_BPF_TARGETS_H

#define bpf_target_defined
#if defined(__TARGET_ARCH_x86)
#define bpf_target_x86
#elif defined(__TARGET_ARCH_s390)
#define bpf_target_s390
#elif defined(__TARGET_ARCH_arm)
#define bpf_target_arm
#elif defined(__TARGET_ARCH_arm64)
#define bpf_target_arm64
#elif defined(__TARGET_ARCH_mips)
#define bpf_target_mips
#elif defined(__TARGET_ARCH_powerpc)
#define bpf_target_powerpc
#elif defined(__TARGET_ARCH_sparc)
#define bpf_target_sparc
#elif defined(__TARGET_ARCH_riscv)
#define bpf_target_riscv
#elif defined(__TARGET_ARCH_arc)
#define bpf_target_arc
#elif defined(__TARGET_ARCH_loongarch)
#define bpf_target_loongarch
/* A compiler that does not compile for BPF says its machine. */
#elif defined(__x86_64__)
#define bpf_target_x86
#elif defined(__s390__)
#define bpf_target_s390
#elif defined(__arm__)
#define bpf_target_arm
#elif defined(__aarch64__)
#define bpf_target_arm64
#elif defined(__mips__)
#define bpf_target_mips
#elif defined(__powerpc__)
#define bpf_target_powerpc
#elif defined(__sparc__)
#define bpf_target_sparc
#elif defined(__riscv) && __riscv_xlen == 64
#define bpf_target_riscv
#elif defined(__arc__)
#define bpf_target_arc
#elif defined(__loongarch__)
#define bpf_target_loongarch
#else
#undef bpf_target_defined
#endif

/* The arguments of system calls, where they are those of functions. */
#define __PT_PARM2_SYSCALL_REG __PT_PARM2_REG
#define __PT_PARM3_SYSCALL_REG __PT_PARM3_REG

#if defined(bpf_target_x86)
#if defined(__KERNEL__) || defined(__VMLINUX_H__)
#define __PT_PARM1_REG di
#define __PT_PARM2_REG si
#define __PT_PARM3_REG dx
#define __PT_PARM4_REG cx
#define __PT_RC_REG ax
#define __PT_FP_REG bp
#define __PT_SP_REG sp
#define __PT_IP_REG ip
#elif defined(__i386__)
/* Three arguments of the kernel's functions are in registers, and all of system calls. */
#define __PT_PARM1_REG eax
#define __PT_PARM2_REG edx
#define __PT_PARM3_REG ecx
#define __PT_RC_REG eax
#define __PT_FP_REG ebp
#define __PT_SP_REG esp
#define __PT_IP_REG eip
#define __PT_PARM1_SYSCALL_REG ebx
#undef __PT_PARM2_SYSCALL_REG
#define __PT_PARM2_SYSCALL_REG ecx
#undef __PT_PARM3_SYSCALL_REG
#define __PT_PARM3_SYSCALL_REG edx
#define __PT_PARM4_SYSCALL_REG esi
#define __PT_PARM5_SYSCALL_REG edi
#define __PT_PARM6_SYSCALL_REG ebp
#else
/* The names in include/uapi/asm/ptrace.h. */
#define __PT_PARM1_REG rdi
#define __PT_PARM2_REG rsi
#define __PT_PARM3_REG rdx
#define __PT_PARM4_REG rcx
#define __PT_RC_REG rax
#define __PT_FP_REG rbp
#define __PT_SP_REG rsp
#define __PT_IP_REG rip
#endif
#if defined(__KERNEL__) || defined(__VMLINUX_H__) || !defined(__i386__)
#define __PT_PARM5_REG r8
#define __PT_PARM6_REG r9
#define __PT_PARM4_SYSCALL_REG r10
#endif
#define __PT_RET_REG __PT_SP_REG

#elif defined(bpf_target_s390)
#define __PT_PARM1_REG gprs[2]
#define __PT_PARM2_REG gprs[3]
#define __PT_PARM3_REG gprs[4]
#define __PT_PARM4_REG gprs[5]
#define __PT_PARM5_REG gprs[6]
#define __PT_RC_REG gprs[2]
#define __PT_FP_REG gprs[11]
#define __PT_SP_REG gprs[15]
#define __PT_IP_REG psw.addr
#define __PT_RET_REG gprs[14]
#define __PT_PARM1_SYSCALL_REG orig_gpr2
#define __PT_PARM6_SYSCALL_REG gprs[7]
#define __PT_REGS_CAST(x) ((const user_pt_regs *)(x))
#define PT_REGS_ORIGINAL_ struct pt_regs___s390

#elif defined(bpf_target_arm)
#define __PT_PARM1_REG uregs[0]
#define __PT_PARM2_REG uregs[1]
#define __PT_PARM3_REG uregs[2]
#define __PT_PARM4_REG uregs[3]
#define __PT_RC_REG uregs[0]
#define __PT_FP_REG uregs[11]
#define __PT_SP_REG uregs[13]
#define __PT_IP_REG uregs[12]
#define __PT_RET_REG uregs[14]
#define __PT_PARM5_SYSCALL_REG uregs[4]
#define __PT_PARM6_SYSCALL_REG uregs[5]
#define __PT_PARM7_SYSCALL_REG uregs[6]

#elif defined(bpf_target_arm64)
#define __PT_PARM1_REG regs[0]
#define __PT_PARM2_REG regs[1]
#define __PT_PARM3_REG regs[2]
#define __PT_PARM4_REG regs[3]
#define __PT_PARM5_REG regs[4]
#define __PT_PARM6_REG regs[5]
#define __PT_PARM7_REG regs[6]
#define __PT_PARM8_REG regs[7]
#define __PT_RC_REG regs[0]
#define __PT_FP_REG regs[29]
#define __PT_SP_REG sp
#define __PT_IP_REG pc
#define __PT_RET_REG regs[30]
#define __PT_PARM1_SYSCALL_REG orig_x0
#define __PT_REGS_CAST(x) ((const struct user_pt_regs *)(x))
#define PT_REGS_ORIGINAL_ struct pt_regs___arm64

#elif defined(bpf_target_mips)
#define __PT_PARM1_REG regs[4]
#define __PT_PARM2_REG regs[5]
#define __PT_PARM3_REG regs[6]
#define __PT_PARM4_REG regs[7]
/* Arguments 5 to 8 are in registers in the ABIs n32 and n64. */
#define __PT_PARM5_REG regs[8]
#define __PT_PARM6_REG regs[9]
#define __PT_PARM7_REG regs[10]
#define __PT_PARM8_REG regs[11]
#define __PT_RC_REG regs[2]
#define __PT_FP_REG regs[30]
#define __PT_SP_REG regs[29]
#define __PT_IP_REG cp0_epc
#define __PT_RET_REG regs[31]

#elif defined(bpf_target_powerpc)
#define __PT_PARM1_REG gpr[3]
#define __PT_PARM2_REG gpr[4]
#define __PT_PARM3_REG gpr[5]
#define __PT_PARM4_REG gpr[6]
#define __PT_PARM5_REG gpr[7]
#define __PT_PARM6_REG gpr[8]
#define __PT_PARM7_REG gpr[9]
#define __PT_PARM8_REG gpr[10]
#define __PT_RC_REG gpr[3]
#define __PT_FP_REG gpr[31]
#define __PT_SP_REG gpr[1]
#define __PT_IP_REG nip
#define __PT_RET_REG link
#define __PT_PARM1_SYSCALL_REG orig_gpr3
#ifndef __arch64__
#define __PT_PARM7_SYSCALL_REG __PT_PARM7_REG
#endif

#elif defined(bpf_target_sparc)
/* The enumerators UREG_I0 and so on are those of the machine's asm/ptrace.h. */
#define __PT_PARM1_REG u_regs[UREG_I0]
#define __PT_PARM2_REG u_regs[UREG_I1]
#define __PT_PARM3_REG u_regs[UREG_I2]
#define __PT_PARM4_REG u_regs[UREG_I3]
#define __PT_PARM5_REG u_regs[UREG_I4]
#define __PT_PARM6_REG u_regs[UREG_I5]
#define __PT_RC_REG u_regs[UREG_I0]
#define __PT_FP_REG __unsupported__
#define __PT_SP_REG u_regs[UREG_FP]
#ifdef __arch64__
#define __PT_IP_REG tpc
#else
#define __PT_IP_REG pc
#endif
#define __PT_RET_REG u_regs[UREG_I7]

#elif defined(bpf_target_riscv)
#define __PT_PARM1_REG a0
#define __PT_PARM2_REG a1
#define __PT_PARM3_REG a2
#define __PT_PARM4_REG a3
#define __PT_PARM5_REG a4
#define __PT_PARM6_REG a5
#define __PT_PARM7_REG a6
#define __PT_PARM8_REG a7
#define __PT_RC_REG a0
#define __PT_FP_REG s0
#define __PT_SP_REG sp
#define __PT_IP_REG pc
#define __PT_RET_REG ra
#define __PT_PARM1_SYSCALL_REG orig_a0
#define __PT_REGS_CAST(x) ((const struct user_regs_struct *)(x))
#define PT_REGS_ORIGINAL_ struct pt_regs___riscv

#elif defined(bpf_target_arc)
#define __PT_PARM1_REG scratch.r0
#define __PT_PARM2_REG scratch.r1
#define __PT_PARM3_REG scratch.r2
#define __PT_PARM4_REG scratch.r3
#define __PT_PARM5_REG scratch.r4
#define __PT_PARM6_REG scratch.r5
#define __PT_PARM7_REG scratch.r6
#define __PT_PARM8_REG scratch.r7
#define __PT_RC_REG scratch.r0
#define __PT_FP_REG scratch.fp
#define __PT_SP_REG scratch.sp
#define __PT_IP_REG scratch.ret
#define __PT_RET_REG scratch.blink
#define __PT_REGS_CAST(x) ((const struct user_regs_struct *)(x))

#elif defined(bpf_target_loongarch)
/* struct pt_regs begins with the members of user_pt_regs. */
#define __PT_PARM1_REG regs[4]
#define __PT_PARM2_REG regs[5]
#define __PT_PARM3_REG regs[6]
#define __PT_PARM4_REG regs[7]
#define __PT_PARM5_REG regs[8]
#define __PT_PARM6_REG regs[9]
#define __PT_PARM7_REG regs[10]
#define __PT_PARM8_REG regs[11]
#define __PT_RC_REG regs[4]
#define __PT_FP_REG regs[22]
#define __PT_SP_REG regs[3]
#define __PT_IP_REG csr_era
#define __PT_RET_REG regs[1]
#define __PT_REGS_CAST(x) ((const struct user_pt_regs *)(x))
#endif

/* What a machine does not have: a use names a member `__unsupported__`, which no struct has. */
#ifndef __PT_PARM4_REG
#define __PT_PARM4_REG __unsupported__
#endif
#ifndef __PT_PARM5_REG
#define __PT_PARM5_REG __unsupported__
#endif
#ifndef __PT_PARM6_REG
#define __PT_PARM6_REG __unsupported__
#endif
#ifndef __PT_PARM7_REG
#define __PT_PARM7_REG __unsupported__
#endif
#ifndef __PT_PARM8_REG
#define __PT_PARM8_REG __unsupported__
#endif
#ifndef __PT_PARM1_SYSCALL_REG
#define __PT_PARM1_SYSCALL_REG __PT_PARM1_REG
#endif
#ifndef __PT_PARM4_SYSCALL_REG
#define __PT_PARM4_SYSCALL_REG __PT_PARM4_REG
#endif
#ifndef __PT_PARM5_SYSCALL_REG
#define __PT_PARM5_SYSCALL_REG __PT_PARM5_REG
#endif
#ifndef __PT_PARM6_SYSCALL_REG
#define __PT_PARM6_SYSCALL_REG __PT_PARM6_REG
#endif
#ifndef __PT_PARM7_SYSCALL_REG
#define __PT_PARM7_SYSCALL_REG __unsupported__
#endif
/* The type of the registers in user space, where it is not struct pt_regs. */
#ifndef __PT_REGS_CAST
#define __PT_REGS_CAST(x) (x)
#endif

#endif
