/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Arguments of traced functions. BPF_PROG, BPF_KPROBE and so on declare a program with the arguments of the function that it traces; the
 * names are those of libbpf's header of the same name. BPF_KPROBE and the PT_REGS macros read registers: see bpf_targets.h.
 */
#ifndef __BPF_TRACING_H__
#define __BPF_TRACING_H__

#include "bpf_helpers.h"
#include "bpf_core_read.h"
#include "bpf_registers.h"
#include "bpf_struct_arguments.h"

/* The words of the context of fentry, tp_btf, raw tracepoints, LSM and struct_ops: the arguments. */
#define ___bpf_ctx_cast0() ctx
#define ___bpf_ctx_cast1(...) ___bpf_ctx_cast0(), ctx[0]
#define ___bpf_ctx_cast2(...) ___bpf_ctx_cast1(), ctx[1]
#define ___bpf_ctx_cast3(...) ___bpf_ctx_cast2(), ctx[2]
#define ___bpf_ctx_cast4(...) ___bpf_ctx_cast3(), ctx[3]
#define ___bpf_ctx_cast5(...) ___bpf_ctx_cast4(), ctx[4]
#define ___bpf_ctx_cast6(...) ___bpf_ctx_cast5(), ctx[5]
#define ___bpf_ctx_cast7(...) ___bpf_ctx_cast6(), ctx[6]
#define ___bpf_ctx_cast8(...) ___bpf_ctx_cast7(), ctx[7]
#define ___bpf_ctx_cast9(...) ___bpf_ctx_cast8(), ctx[8]
#define ___bpf_ctx_cast10(...) ___bpf_ctx_cast9(), ctx[9]
#define ___bpf_ctx_cast11(...) ___bpf_ctx_cast10(), ctx[10]
#define ___bpf_ctx_cast12(...) ___bpf_ctx_cast11(), ctx[11]
#define ___bpf_ctx_cast(arguments...) ___bpf_apply(___bpf_ctx_cast, BPF_COUNT_(arguments))(arguments)

/*
 * Declares the program `name`, which gets a context of `ctx_type`. `calls` are its statements: they call ____name, whose body follows the
 * macro. Arguments are converted from words to their types, pointers included.
 */
#define BPF_BODY_(name, ctx_type, calls, arguments...)                                        \
	name(ctx_type *ctx);                                                                  \
	static __always_inline __typeof__(name(0)) ____##name(ctx_type *ctx, ##arguments);    \
	__typeof__(name(0)) name(ctx_type *ctx)                                               \
	{                                                                                     \
		_Pragma("GCC diagnostic push")                                                \
		_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                        \
		calls                                                                         \
		_Pragma("GCC diagnostic pop")                                                 \
	}                                                                                     \
	static __always_inline __typeof__(name(0))                                            \
		____##name(__attribute__((unused)) ctx_type *ctx, ##arguments)

/* A program for fentry, fexit, fmod_ret, tp_btf, raw_tp, lsm or struct_ops. The last argument of fexit and fmod_ret is the result. */
#define BPF_PROG(name, arguments...) \
	BPF_BODY_(name, unsigned long long, return ____##name(___bpf_ctx_cast(arguments));, ##arguments)

/* The arguments of a probed function, as many as the declaration has. */
#define ___bpf_kprobe_args0() ctx
#define ___bpf_kprobe_args1(...) ___bpf_kprobe_args0(), (unsigned long long)PT_REGS_PARM1(ctx)
#define ___bpf_kprobe_args2(...) ___bpf_kprobe_args1(), (unsigned long long)PT_REGS_PARM2(ctx)
#define ___bpf_kprobe_args3(...) ___bpf_kprobe_args2(), (unsigned long long)PT_REGS_PARM3(ctx)
#define ___bpf_kprobe_args4(...) ___bpf_kprobe_args3(), (unsigned long long)PT_REGS_PARM4(ctx)
#define ___bpf_kprobe_args5(...) ___bpf_kprobe_args4(), (unsigned long long)PT_REGS_PARM5(ctx)
#define ___bpf_kprobe_args6(...) ___bpf_kprobe_args5(), (unsigned long long)PT_REGS_PARM6(ctx)
#define ___bpf_kprobe_args7(...) ___bpf_kprobe_args6(), (unsigned long long)PT_REGS_PARM7(ctx)
#define ___bpf_kprobe_args8(...) ___bpf_kprobe_args7(), (unsigned long long)PT_REGS_PARM8(ctx)
#define ___bpf_kprobe_args(arguments...) ___bpf_apply(___bpf_kprobe_args, BPF_COUNT_(arguments))(arguments)

/* A program for a kprobe or uprobe on the start of a function. */
#define BPF_KPROBE(name, arguments...) \
	BPF_BODY_(name, struct pt_regs, return ____##name(___bpf_kprobe_args(arguments));, ##arguments)
#define BPF_UPROBE(name, arguments...) BPF_KPROBE(name, ##arguments)

/* A program for the return of a function. Its argument is the result. */
#define ___bpf_kretprobe_args0() ctx
#define ___bpf_kretprobe_args1(...) ___bpf_kretprobe_args0(), (unsigned long long)PT_REGS_RC(ctx)
#define ___bpf_kretprobe_args(arguments...) ___bpf_apply(___bpf_kretprobe_args, BPF_COUNT_(arguments))(arguments)
#define BPF_KRETPROBE(name, arguments...) \
	BPF_BODY_(name, struct pt_regs, return ____##name(___bpf_kretprobe_args(arguments));, ##arguments)
#define BPF_URETPROBE(name, arguments...) BPF_KRETPROBE(name, ##arguments)

/* The arguments of a system call in the registers `regs` to which argument 1 of its function points: memory of the kernel. */
#define ___bpf_syswrap_args0() ctx
#define ___bpf_syswrap_args1(...) ___bpf_syswrap_args0(), (unsigned long long)PT_REGS_PARM1_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args2(...) ___bpf_syswrap_args1(), (unsigned long long)PT_REGS_PARM2_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args3(...) ___bpf_syswrap_args2(), (unsigned long long)PT_REGS_PARM3_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args4(...) ___bpf_syswrap_args3(), (unsigned long long)PT_REGS_PARM4_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args5(...) ___bpf_syswrap_args4(), (unsigned long long)PT_REGS_PARM5_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args6(...) ___bpf_syswrap_args5(), (unsigned long long)PT_REGS_PARM6_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args7(...) ___bpf_syswrap_args6(), (unsigned long long)PT_REGS_PARM7_CORE_SYSCALL(regs)
#define ___bpf_syswrap_args(arguments...) ___bpf_apply(___bpf_syswrap_args, BPF_COUNT_(arguments))(arguments)

/*
 * The arguments of a system call whose function gets them itself. Argument 1 is that of a function where kernels without wrappers have
 * BTF: in a kprobe, the member with the original argument 1 has an older value.
 */
#if defined(bpf_target_riscv) || defined(bpf_target_powerpc)
#define BPF_SYSCALL_1_(regs) PT_REGS_PARM1(regs)
#else
#define BPF_SYSCALL_1_(regs) PT_REGS_PARM1_SYSCALL(regs)
#endif
#define ___bpf_syscall_args0() ctx
#define ___bpf_syscall_args1(...) ___bpf_syscall_args0(), (unsigned long long)BPF_SYSCALL_1_(regs)
#define ___bpf_syscall_args2(...) ___bpf_syscall_args1(), (unsigned long long)PT_REGS_PARM2_SYSCALL(regs)
#define ___bpf_syscall_args3(...) ___bpf_syscall_args2(), (unsigned long long)PT_REGS_PARM3_SYSCALL(regs)
#define ___bpf_syscall_args4(...) ___bpf_syscall_args3(), (unsigned long long)PT_REGS_PARM4_SYSCALL(regs)
#define ___bpf_syscall_args5(...) ___bpf_syscall_args4(), (unsigned long long)PT_REGS_PARM5_SYSCALL(regs)
#define ___bpf_syscall_args6(...) ___bpf_syscall_args5(), (unsigned long long)PT_REGS_PARM6_SYSCALL(regs)
#define ___bpf_syscall_args7(...) ___bpf_syscall_args6(), (unsigned long long)PT_REGS_PARM7_SYSCALL(regs)
#define ___bpf_syscall_args(arguments...) ___bpf_apply(___bpf_syscall_args, BPF_COUNT_(arguments))(arguments)

/* A program for the start of a system call. The loader knows whether the kernel's functions of system calls have wrappers. */
#define BPF_KSYSCALL(name, arguments...)                                                                          \
	BPF_BODY_(name, struct pt_regs,                                                                           \
		  extern _Bool LINUX_HAS_SYSCALL_WRAPPER __kconfig;                                               \
		  struct pt_regs *regs = LINUX_HAS_SYSCALL_WRAPPER ? (struct pt_regs *)PT_REGS_PARM1(ctx) : ctx;  \
		  if (LINUX_HAS_SYSCALL_WRAPPER)                                                                  \
			  return ____##name(___bpf_syswrap_args(arguments));                                      \
		  else                                                                                            \
			  return ____##name(___bpf_syscall_args(arguments));, ##arguments)
#define BPF_KPROBE_SYSCALL BPF_KSYSCALL

#endif
