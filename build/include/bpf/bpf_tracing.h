/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Arguments of traced functions. BPF_PROG, BPF_KPROBE and so on declare a program with the arguments of the function that it traces; the
 * names are those of libbpf's header of the same name. BPF_KPROBE and the PT_REGS macros read registers: compile with
 * -D__TARGET_ARCH_x86 (arm64, arm, riscv, s390, powerpc, mips, loongarch), as core-relo-build does.
 */
#ifndef CORE_RELO_BPF_TRACING_H
#define CORE_RELO_BPF_TRACING_H

#include "bpf_helpers.h"
#include "bpf_core_read.h"

/*
 * The registers of struct pt_regs: arguments 1 to 8 of functions, the result, the frame pointer, the stack pointer, the instruction, the
 * return address (on x86 its address); of system calls arguments 1, 4, 5 and 6. Where the kernel overwrites argument 1 of a system call,
 * the kernel's own struct, PT_REGS_ORIGINAL_, still has it.
 */
#if defined(__TARGET_ARCH_x86)
#ifdef __VMLINUX_H__
#define PT_REGS_TYPE_ struct pt_regs
#define PT_REG_1_ di
#define PT_REG_2_ si
#define PT_REG_3_ dx
#define PT_REG_4_ cx
#define PT_REG_RC_ ax
#define PT_REG_FP_ bp
#define PT_REG_SP_ sp
#define PT_REG_IP_ ip
#else
/* The names in include/uapi/asm/ptrace.h. */
#define PT_REGS_TYPE_ struct pt_regs
#define PT_REG_1_ rdi
#define PT_REG_2_ rsi
#define PT_REG_3_ rdx
#define PT_REG_4_ rcx
#define PT_REG_RC_ rax
#define PT_REG_FP_ rbp
#define PT_REG_SP_ rsp
#define PT_REG_IP_ rip
#endif
#define PT_REG_5_ r8
#define PT_REG_6_ r9
#define PT_REG_RET_ PT_REG_SP_
#define PT_REG_SYSCALL_1_ PT_REG_1_
#define PT_REG_SYSCALL_4_ r10
#define PT_REG_SYSCALL_5_ PT_REG_5_
#define PT_REG_SYSCALL_6_ PT_REG_6_
#elif defined(__TARGET_ARCH_arm64)
#define PT_REGS_TYPE_ struct user_pt_regs
#define PT_REG_1_ regs[0]
#define PT_REG_2_ regs[1]
#define PT_REG_3_ regs[2]
#define PT_REG_4_ regs[3]
#define PT_REG_5_ regs[4]
#define PT_REG_6_ regs[5]
#define PT_REG_7_ regs[6]
#define PT_REG_8_ regs[7]
#define PT_REG_RC_ regs[0]
#define PT_REG_FP_ regs[29]
#define PT_REG_SP_ sp
#define PT_REG_IP_ pc
#define PT_REG_RET_ regs[30]
#define PT_REG_SYSCALL_1_ orig_x0
#define PT_REG_SYSCALL_4_ PT_REG_4_
#define PT_REG_SYSCALL_5_ PT_REG_5_
#define PT_REG_SYSCALL_6_ PT_REG_6_
#define PT_REGS_ORIGINAL_ struct pt_regs___arm64
#elif defined(__TARGET_ARCH_arm)
#define PT_REGS_TYPE_ struct pt_regs
#define PT_REG_1_ uregs[0]
#define PT_REG_2_ uregs[1]
#define PT_REG_3_ uregs[2]
#define PT_REG_4_ uregs[3]
#define PT_REG_RC_ uregs[0]
#define PT_REG_FP_ uregs[11]
#define PT_REG_SP_ uregs[13]
#define PT_REG_IP_ uregs[12]
#define PT_REG_RET_ uregs[14]
#define PT_REG_SYSCALL_1_ PT_REG_1_
#define PT_REG_SYSCALL_4_ PT_REG_4_
#define PT_REG_SYSCALL_5_ uregs[4]
#define PT_REG_SYSCALL_6_ uregs[5]
#define PT_REG_SYSCALL_7_ uregs[6]
#elif defined(__TARGET_ARCH_riscv)
#define PT_REGS_TYPE_ struct user_regs_struct
#define PT_REG_1_ a0
#define PT_REG_2_ a1
#define PT_REG_3_ a2
#define PT_REG_4_ a3
#define PT_REG_5_ a4
#define PT_REG_6_ a5
#define PT_REG_7_ a6
#define PT_REG_8_ a7
#define PT_REG_RC_ a0
#define PT_REG_FP_ s0
#define PT_REG_SP_ sp
#define PT_REG_IP_ pc
#define PT_REG_RET_ ra
#define PT_REG_SYSCALL_1_ orig_a0
#define PT_REG_SYSCALL_4_ PT_REG_4_
#define PT_REG_SYSCALL_5_ PT_REG_5_
#define PT_REG_SYSCALL_6_ PT_REG_6_
#define PT_REGS_ORIGINAL_ struct pt_regs___riscv
#elif defined(__TARGET_ARCH_s390)
#define PT_REGS_TYPE_ user_pt_regs
#define PT_REG_1_ gprs[2]
#define PT_REG_2_ gprs[3]
#define PT_REG_3_ gprs[4]
#define PT_REG_4_ gprs[5]
#define PT_REG_5_ gprs[6]
#define PT_REG_RC_ gprs[2]
#define PT_REG_FP_ gprs[11]
#define PT_REG_SP_ gprs[15]
#define PT_REG_IP_ psw.addr
#define PT_REG_RET_ gprs[14]
#define PT_REG_SYSCALL_1_ orig_gpr2
#define PT_REG_SYSCALL_4_ PT_REG_4_
#define PT_REG_SYSCALL_5_ PT_REG_5_
#define PT_REG_SYSCALL_6_ gprs[7]
#define PT_REGS_ORIGINAL_ struct pt_regs___s390
#elif defined(__TARGET_ARCH_powerpc)
#define PT_REGS_TYPE_ struct pt_regs
#define PT_REG_1_ gpr[3]
#define PT_REG_2_ gpr[4]
#define PT_REG_3_ gpr[5]
#define PT_REG_4_ gpr[6]
#define PT_REG_5_ gpr[7]
#define PT_REG_6_ gpr[8]
#define PT_REG_7_ gpr[9]
#define PT_REG_8_ gpr[10]
#define PT_REG_RC_ gpr[3]
#define PT_REG_FP_ gpr[31]
#define PT_REG_SP_ gpr[1]
#define PT_REG_IP_ nip
#define PT_REG_RET_ link
#define PT_REG_SYSCALL_1_ orig_gpr3
#define PT_REG_SYSCALL_4_ PT_REG_4_
#define PT_REG_SYSCALL_5_ PT_REG_5_
#define PT_REG_SYSCALL_6_ PT_REG_6_
#define PT_REG_SYSCALL_7_ PT_REG_7_
#elif defined(__TARGET_ARCH_mips)
#define PT_REGS_TYPE_ struct pt_regs
#define PT_REG_1_ regs[4]
#define PT_REG_2_ regs[5]
#define PT_REG_3_ regs[6]
#define PT_REG_4_ regs[7]
/* Arguments 5 to 8 are in registers in the ABIs n32 and n64. */
#define PT_REG_5_ regs[8]
#define PT_REG_6_ regs[9]
#define PT_REG_7_ regs[10]
#define PT_REG_8_ regs[11]
#define PT_REG_RC_ regs[2]
#define PT_REG_FP_ regs[30]
#define PT_REG_SP_ regs[29]
#define PT_REG_IP_ cp0_epc
#define PT_REG_RET_ regs[31]
#define PT_REG_SYSCALL_1_ PT_REG_1_
#define PT_REG_SYSCALL_4_ PT_REG_4_
#define PT_REG_SYSCALL_5_ PT_REG_5_
#define PT_REG_SYSCALL_6_ PT_REG_6_
#elif defined(__TARGET_ARCH_loongarch)
/* struct pt_regs begins with the members of user_pt_regs. */
#define PT_REGS_TYPE_ struct user_pt_regs
#define PT_REG_1_ regs[4]
#define PT_REG_2_ regs[5]
#define PT_REG_3_ regs[6]
#define PT_REG_4_ regs[7]
#define PT_REG_5_ regs[8]
#define PT_REG_6_ regs[9]
#define PT_REG_7_ regs[10]
#define PT_REG_8_ regs[11]
#define PT_REG_RC_ regs[4]
#define PT_REG_FP_ regs[22]
#define PT_REG_SP_ regs[3]
#define PT_REG_IP_ csr_era
#define PT_REG_RET_ regs[1]
#define PT_REG_SYSCALL_1_ PT_REG_1_
#define PT_REG_SYSCALL_4_ PT_REG_4_
#define PT_REG_SYSCALL_5_ PT_REG_5_
#define PT_REG_SYSCALL_6_ PT_REG_6_
#endif

#ifdef PT_REGS_TYPE_

#define PT_REGS_(x) ((PT_REGS_TYPE_ *)(x))
#define PT_REGS_PARM1(x) (PT_REGS_(x)->PT_REG_1_)
#define PT_REGS_PARM2(x) (PT_REGS_(x)->PT_REG_2_)
#define PT_REGS_PARM3(x) (PT_REGS_(x)->PT_REG_3_)
#define PT_REGS_PARM4(x) (PT_REGS_(x)->PT_REG_4_)
#define PT_REGS_PARM1_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_1_)
#define PT_REGS_PARM2_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_2_)
#define PT_REGS_PARM3_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_3_)
#define PT_REGS_PARM4_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_4_)
#ifdef PT_REG_5_
#define PT_REGS_PARM5(x) (PT_REGS_(x)->PT_REG_5_)
#define PT_REGS_PARM5_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_5_)
#endif
#ifdef PT_REG_6_
#define PT_REGS_PARM6(x) (PT_REGS_(x)->PT_REG_6_)
#define PT_REGS_PARM6_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_6_)
#endif
#ifdef PT_REG_7_
#define PT_REGS_PARM7(x) (PT_REGS_(x)->PT_REG_7_)
#define PT_REGS_PARM7_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_7_)
#define PT_REGS_PARM8(x) (PT_REGS_(x)->PT_REG_8_)
#define PT_REGS_PARM8_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_8_)
#endif
#define PT_REGS_RC(x) (PT_REGS_(x)->PT_REG_RC_)
#define PT_REGS_FP(x) (PT_REGS_(x)->PT_REG_FP_)
#define PT_REGS_SP(x) (PT_REGS_(x)->PT_REG_SP_)
#define PT_REGS_IP(x) (PT_REGS_(x)->PT_REG_IP_)
#define PT_REGS_RC_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_RC_)
#define PT_REGS_FP_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_FP_)
#define PT_REGS_SP_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_SP_)
#define PT_REGS_IP_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_IP_)
#define PT_REGS_RET(x) (PT_REGS_(x)->PT_REG_RET_)
#define PT_REGS_RET_CORE(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_RET_)

/* The arguments of a system call. Where the kernel overwrites argument 1, its access is always relocated. */
#ifdef PT_REGS_ORIGINAL_
PT_REGS_ORIGINAL_ {
	unsigned long PT_REG_SYSCALL_1_;
} __attribute__((preserve_access_index));
#define PT_REGS_PARM1_SYSCALL(x) (((PT_REGS_ORIGINAL_ *)(x))->PT_REG_SYSCALL_1_)
#define PT_REGS_PARM1_CORE_SYSCALL(x) BPF_CORE_READ((PT_REGS_ORIGINAL_ *)(x), PT_REG_SYSCALL_1_)
#else
#define PT_REGS_PARM1_SYSCALL(x) (PT_REGS_(x)->PT_REG_SYSCALL_1_)
#define PT_REGS_PARM1_CORE_SYSCALL(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_SYSCALL_1_)
#endif
#define PT_REGS_PARM2_SYSCALL(x) PT_REGS_PARM2(x)
#define PT_REGS_PARM3_SYSCALL(x) PT_REGS_PARM3(x)
#define PT_REGS_PARM4_SYSCALL(x) (PT_REGS_(x)->PT_REG_SYSCALL_4_)
#define PT_REGS_PARM5_SYSCALL(x) (PT_REGS_(x)->PT_REG_SYSCALL_5_)
#define PT_REGS_PARM6_SYSCALL(x) (PT_REGS_(x)->PT_REG_SYSCALL_6_)
#define PT_REGS_PARM2_CORE_SYSCALL(x) PT_REGS_PARM2_CORE(x)
#define PT_REGS_PARM3_CORE_SYSCALL(x) PT_REGS_PARM3_CORE(x)
#define PT_REGS_PARM4_CORE_SYSCALL(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_SYSCALL_4_)
#define PT_REGS_PARM5_CORE_SYSCALL(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_SYSCALL_5_)
#define PT_REGS_PARM6_CORE_SYSCALL(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_SYSCALL_6_)
#ifdef PT_REG_SYSCALL_7_
#define PT_REGS_PARM7_SYSCALL(x) (PT_REGS_(x)->PT_REG_SYSCALL_7_)
#define PT_REGS_PARM7_CORE_SYSCALL(x) BPF_CORE_READ(PT_REGS_(x), PT_REG_SYSCALL_7_)
#endif

/*
 * The registers of the system call in a kprobe of its function: argument 1 on machines whose kernels have CONFIG_ARCH_HAS_SYSCALL_WRAPPER
 * (riscv since Linux 6.6). BPF_KSYSCALL asks the kernel instead.
 */
#if defined(__TARGET_ARCH_x86) || defined(__TARGET_ARCH_arm64) || defined(__TARGET_ARCH_s390) || \
	defined(__TARGET_ARCH_riscv)
#define PT_REGS_SYSCALL_REGS(ctx) ((struct pt_regs *)PT_REGS_PARM1(ctx))
#else
#define PT_REGS_SYSCALL_REGS(ctx) (ctx)
#endif

/* Reads the address to which a function returns, at its start and at its end. */
#ifdef __TARGET_ARCH_x86
#define BPF_KPROBE_READ_RET_IP(ip, ctx) ({ bpf_probe_read_kernel(&(ip), sizeof(ip), (const void *)PT_REGS_RET(ctx)); })
#define BPF_KRETPROBE_READ_RET_IP(ip, ctx) \
	({ bpf_probe_read_kernel(&(ip), sizeof(ip), (const void *)(PT_REGS_FP(ctx) + sizeof(ip))); })
#else
#define BPF_KPROBE_READ_RET_IP(ip, ctx) ({ (ip) = PT_REGS_RET(ctx); })
#define BPF_KRETPROBE_READ_RET_IP BPF_KPROBE_READ_RET_IP
#endif

/* The arguments of a probed function, as many as the declaration has. */
#define BPF_REGS_0_(x)
#define BPF_REGS_1_(x) , (void *)PT_REGS_PARM1(x)
#define BPF_REGS_2_(x) BPF_REGS_1_(x), (void *)PT_REGS_PARM2(x)
#define BPF_REGS_3_(x) BPF_REGS_2_(x), (void *)PT_REGS_PARM3(x)
#define BPF_REGS_4_(x) BPF_REGS_3_(x), (void *)PT_REGS_PARM4(x)
#define BPF_REGS_5_(x) BPF_REGS_4_(x), (void *)PT_REGS_PARM5(x)
#define BPF_REGS_6_(x) BPF_REGS_5_(x), (void *)PT_REGS_PARM6(x)
#define BPF_REGS_7_(x) BPF_REGS_6_(x), (void *)PT_REGS_PARM7(x)
#define BPF_REGS_8_(x) BPF_REGS_7_(x), (void *)PT_REGS_PARM8(x)

#endif

/* The words of the context of fentry, tp_btf, raw tracepoints, LSM and struct_ops: the arguments. */
#define BPF_ARGUMENTS_0_(ctx)
#define BPF_ARGUMENTS_1_(ctx) , (void *)ctx[0]
#define BPF_ARGUMENTS_2_(ctx) BPF_ARGUMENTS_1_(ctx), (void *)ctx[1]
#define BPF_ARGUMENTS_3_(ctx) BPF_ARGUMENTS_2_(ctx), (void *)ctx[2]
#define BPF_ARGUMENTS_4_(ctx) BPF_ARGUMENTS_3_(ctx), (void *)ctx[3]
#define BPF_ARGUMENTS_5_(ctx) BPF_ARGUMENTS_4_(ctx), (void *)ctx[4]
#define BPF_ARGUMENTS_6_(ctx) BPF_ARGUMENTS_5_(ctx), (void *)ctx[5]
#define BPF_ARGUMENTS_7_(ctx) BPF_ARGUMENTS_6_(ctx), (void *)ctx[6]
#define BPF_ARGUMENTS_8_(ctx) BPF_ARGUMENTS_7_(ctx), (void *)ctx[7]
#define BPF_ARGUMENTS_9_(ctx) BPF_ARGUMENTS_8_(ctx), (void *)ctx[8]
#define BPF_ARGUMENTS_10_(ctx) BPF_ARGUMENTS_9_(ctx), (void *)ctx[9]
#define BPF_ARGUMENTS_11_(ctx) BPF_ARGUMENTS_10_(ctx), (void *)ctx[10]
#define BPF_ARGUMENTS_12_(ctx) BPF_ARGUMENTS_11_(ctx), (void *)ctx[11]

/* Declares the program `name`, which gets a context of `ctx_type`, and calls its body with `pass` and the declared arguments. */
#define BPF_BODY_(name, ctx_type, pass, arguments...)                                             \
	name(ctx_type *ctx);                                                                      \
	static __always_inline __typeof__(name(0)) name##_body_(ctx_type *ctx, ##arguments);      \
	__typeof__(name(0)) name(ctx_type *ctx)                                                   \
	{                                                                                         \
		_Pragma("GCC diagnostic push")                                                    \
		_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                            \
		return name##_body_(ctx pass);                                                    \
		_Pragma("GCC diagnostic pop")                                                     \
	}                                                                                         \
	static __always_inline __typeof__(name(0)) name##_body_(__attribute__((unused)) ctx_type *ctx, ##arguments)

#define BPF_PICK_(prefix, arguments...) BPF_JOIN_(BPF_JOIN_(prefix, BPF_COUNT_AFTER_(0, ##arguments)), _)

/* A program for fentry, fexit, fmod_ret, tp_btf, raw_tp, lsm or struct_ops. The last argument of fexit and fmod_ret is the result. */
#define BPF_PROG(name, arguments...) \
	BPF_BODY_(name, unsigned long long, BPF_PICK_(BPF_ARGUMENTS_, ##arguments)(ctx), ##arguments)

/*
 * BPF_PROG with structs of up to 16 bytes among the arguments: BPF_PROG2(name, struct a, first, int, second). A struct of more than 8
 * bytes is two words of the context.
 */
#define BPF_PROG2(name, arguments...)                                                                         \
	BPF_BODY_(name, unsigned long long, BPF_PICK2_(BPF_VALUES_, ##arguments)(0, ##arguments),             \
		  BPF_PICK2_(BPF_DECLARATIONS_, ##arguments)(arguments))
#define BPF_PICK2_(prefix, arguments...) BPF_JOIN_(BPF_JOIN_(prefix, BPF_COUNT_PAIRS_(0, ##arguments)), _)
#define BPF_COUNT_PAIRS_(...) \
	BPF_COUNT_PAIRS__(__VA_ARGS__, 12, x, 11, x, 10, x, 9, x, 8, x, 7, x, 6, x, 5, x, 4, x, 3, x, 2, x, 1, x, 0)
#define BPF_COUNT_PAIRS__(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, \
			  a23, a24, count, ...)                                                                            \
	count
#define BPF_WORD_COUNT_(t) ((sizeof(t) + 7) / 8)
#define BPF_VALUE_(t, at)                                                                                     \
	({                                                                                                    \
		_Static_assert(sizeof(t) <= 16, "an argument has at most 16 bytes");                          \
		union {                                                                                       \
			t value;                                                                              \
			unsigned char one;                                                                    \
			unsigned short two;                                                                   \
			unsigned int four;                                                                    \
			unsigned long long words[BPF_WORD_COUNT_(t)];                                         \
		} argument_ = {};                                                                             \
		if (sizeof(t) == 1)                                                                           \
			argument_.one = ctx[at];                                                              \
		else if (sizeof(t) == 2)                                                                      \
			argument_.two = ctx[at];                                                              \
		else if (sizeof(t) == 4)                                                                      \
			argument_.four = ctx[at];                                                             \
		else                                                                                          \
			argument_.words[0] = ctx[at];                                                         \
		if (sizeof(t) > 8)                                                                            \
			argument_.words[BPF_WORD_COUNT_(t) - 1] = ctx[(at) + 1];                              \
		argument_.value;                                                                              \
	})
#define BPF_VALUES_1_(at, t, x) , BPF_VALUE_(t, at)
#define BPF_VALUES_2_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_1_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_VALUES_3_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_2_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_VALUES_4_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_3_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_VALUES_5_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_4_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_VALUES_6_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_5_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_VALUES_7_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_6_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_VALUES_8_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_7_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_VALUES_9_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_8_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_VALUES_10_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_9_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_VALUES_11_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_10_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_VALUES_12_(at, t, x, ...) , BPF_VALUE_(t, at) BPF_VALUES_11_((at) + BPF_WORD_COUNT_(t), __VA_ARGS__)
#define BPF_DECLARATIONS_1_(t, x) t x
#define BPF_DECLARATIONS_2_(t, x, ...) t x, BPF_DECLARATIONS_1_(__VA_ARGS__)
#define BPF_DECLARATIONS_3_(t, x, ...) t x, BPF_DECLARATIONS_2_(__VA_ARGS__)
#define BPF_DECLARATIONS_4_(t, x, ...) t x, BPF_DECLARATIONS_3_(__VA_ARGS__)
#define BPF_DECLARATIONS_5_(t, x, ...) t x, BPF_DECLARATIONS_4_(__VA_ARGS__)
#define BPF_DECLARATIONS_6_(t, x, ...) t x, BPF_DECLARATIONS_5_(__VA_ARGS__)
#define BPF_DECLARATIONS_7_(t, x, ...) t x, BPF_DECLARATIONS_6_(__VA_ARGS__)
#define BPF_DECLARATIONS_8_(t, x, ...) t x, BPF_DECLARATIONS_7_(__VA_ARGS__)
#define BPF_DECLARATIONS_9_(t, x, ...) t x, BPF_DECLARATIONS_8_(__VA_ARGS__)
#define BPF_DECLARATIONS_10_(t, x, ...) t x, BPF_DECLARATIONS_9_(__VA_ARGS__)
#define BPF_DECLARATIONS_11_(t, x, ...) t x, BPF_DECLARATIONS_10_(__VA_ARGS__)
#define BPF_DECLARATIONS_12_(t, x, ...) t x, BPF_DECLARATIONS_11_(__VA_ARGS__)

/* A program for a kprobe or uprobe on the start of a function. */
#define BPF_KPROBE(name, arguments...) \
	BPF_BODY_(name, struct pt_regs, BPF_PICK_(BPF_REGS_, ##arguments)(ctx), ##arguments)
#define BPF_UPROBE(name, arguments...) BPF_KPROBE(name, ##arguments)

/* A program for the return of a function. Its argument is the result. */
#define BPF_RESULT_0_(ctx)
#define BPF_RESULT_1_(ctx) , (void *)PT_REGS_RC(ctx)
#define BPF_KRETPROBE(name, arguments...) \
	BPF_BODY_(name, struct pt_regs, BPF_PICK_(BPF_RESULT_, ##arguments)(ctx), ##arguments)
#define BPF_URETPROBE(name, arguments...) BPF_KRETPROBE(name, ##arguments)

/*
 * A program for the start of a system call. On most machines the function's only argument is a pointer to the registers of the call; on
 * others the arguments of the call are those of the function.
 */
extern _Bool LINUX_HAS_SYSCALL_WRAPPER __kconfig;
#define BPF_SYSCALL_ARG_(ctx, wrapped, own) \
	, (void *)(LINUX_HAS_SYSCALL_WRAPPER ? wrapped((struct pt_regs *)PT_REGS_PARM1(ctx)) : own(ctx))
#define BPF_SYSCALL_0_(ctx)
#define BPF_SYSCALL_1_(ctx) BPF_SYSCALL_ARG_(ctx, PT_REGS_PARM1_CORE_SYSCALL, PT_REGS_PARM1)
#define BPF_SYSCALL_2_(ctx) BPF_SYSCALL_1_(ctx) BPF_SYSCALL_ARG_(ctx, PT_REGS_PARM2_CORE_SYSCALL, PT_REGS_PARM2)
#define BPF_SYSCALL_3_(ctx) BPF_SYSCALL_2_(ctx) BPF_SYSCALL_ARG_(ctx, PT_REGS_PARM3_CORE_SYSCALL, PT_REGS_PARM3)
#define BPF_SYSCALL_4_(ctx) BPF_SYSCALL_3_(ctx) BPF_SYSCALL_ARG_(ctx, PT_REGS_PARM4_CORE_SYSCALL, PT_REGS_PARM4_SYSCALL)
#define BPF_SYSCALL_5_(ctx) BPF_SYSCALL_4_(ctx) BPF_SYSCALL_ARG_(ctx, PT_REGS_PARM5_CORE_SYSCALL, PT_REGS_PARM5_SYSCALL)
#define BPF_SYSCALL_6_(ctx) BPF_SYSCALL_5_(ctx) BPF_SYSCALL_ARG_(ctx, PT_REGS_PARM6_CORE_SYSCALL, PT_REGS_PARM6_SYSCALL)
#define BPF_KSYSCALL(name, arguments...) \
	BPF_BODY_(name, struct pt_regs, BPF_PICK_(BPF_SYSCALL_, ##arguments)(ctx), ##arguments)
#define BPF_KPROBE_SYSCALL BPF_KSYSCALL

#endif
