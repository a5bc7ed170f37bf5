/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Macros for BPF programs, with the names that libbpf's header of the same name has. Include vmlinux.h or <linux/bpf.h> before it;
 * without any header of the kernel, bpf_types.h provides the types.
 */
#ifndef __BPF_HELPERS__
#define __BPF_HELPERS__

/*
 * The guards of vmlinux.h, and of <linux/bpf.h> and <linux/types.h> as installed and as in a kernel tree. A source that has one of them,
 * or defines __KERNEL__ or BPF_NO_TYPES, brings its types.
 */
#if !defined(__VMLINUX_H__) && !defined(__LINUX_BPF_H__) && !defined(_UAPI__LINUX_BPF_H__) && !defined(_LINUX_TYPES_H) && \
	!defined(_UAPI_LINUX_TYPES_H) && !defined(__KERNEL__) && !defined(BPF_NO_TYPES)
#include "bpf_types.h"
#endif
#include "bpf_arguments.h"
#include "bpf_helper_defs.h"

/*
 * The section of a program, map or variable. The section of a program decides its type. `extern` declarations ignore `used`, of which clang
 * warns; GCC takes no pragmas there.
 */
#ifdef __clang__
#define SEC(name)                                                        \
	_Pragma("GCC diagnostic push")                                   \
	_Pragma("GCC diagnostic ignored \"-Wignored-attributes\"")       \
	__attribute__((section(name), used))                             \
	_Pragma("GCC diagnostic pop")
#else
#define SEC(name) __attribute__((section(name), used))
#endif

/* The members of a map's definition. Each __ulong is an enumerator of its own. */
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name
#define __array(name, value) __typeof__(value) *name[]
#define __ulong(name, value) enum { ___bpf_apply(__unique_value, __COUNTER__) = value } name

/* The pin of a map: LIBBPF_PIN_BY_NAME pins it at /sys/fs/bpf/NAME. */
enum libbpf_pin_type {
	LIBBPF_PIN_NONE,
	LIBBPF_PIN_BY_NAME,
};

/* The type of options of the kernel's configuration that are y, m or n. */
enum libbpf_tristate {
	TRI_NO,
	TRI_YES,
	TRI_MODULE,
};

/* <linux/stddef.h> defines it without the attribute. */
#undef __always_inline
#define __always_inline __inline__ __attribute__((always_inline))
/* vmlinux.h may bring some of these. */
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif
#ifndef __weak
#define __weak __attribute__((weak))
#endif
#ifndef __hidden
#define __hidden __attribute__((visibility("hidden")))
#endif
#ifndef NULL
#define NULL ((void *)0)
#endif
/* Other headers use __builtin_offsetof, whose result is a constant that the loader cannot relocate. */
#undef offsetof
#define offsetof(type, member) ((unsigned long)&((type *)0)->member)
#undef container_of
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

#ifndef likely
#define likely(condition) (__builtin_expect(!!(condition), 1))
#endif
#ifndef unlikely
#define unlikely(condition) (__builtin_expect(!!(condition), 0))
#endif
/* A version as in the variable LINUX_KERNEL_VERSION. */
#ifndef KERNEL_VERSION
#define KERNEL_VERSION(major, minor, patch) (((major) << 16) + ((minor) << 8) + ((patch) > 255 ? 255 : (patch)))
#endif

/* Variables that the loader fills in: of the kernel's configuration, and addresses and functions of the kernel. */
#define __kconfig __attribute__((section(".kconfig")))
#define __ksym __attribute__((section(".ksyms")))

/* Types of pointers in maps, and of arguments of global functions. */
#define __kptr_untrusted __attribute__((btf_type_tag("kptr_untrusted")))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define __percpu_kptr __attribute__((btf_type_tag("percpu_kptr")))
#define __uptr __attribute__((btf_type_tag("uptr")))
#define __arg_ctx __attribute__((btf_decl_tag("arg:ctx")))
#define __arg_nonnull __attribute__((btf_decl_tag("arg:nonnull")))
#define __arg_nullable __attribute__((btf_decl_tag("arg:nullable")))
#define __arg_trusted __attribute__((btf_decl_tag("arg:trusted")))
#define __arg_untrusted __attribute__((btf_decl_tag("arg:untrusted")))
#define __arg_arena __attribute__((btf_decl_tag("arg:arena")))

/* Whether the kernel has a weak symbol or function. */
#ifdef __clang__
#define BPF_IS_WEAK_(symbol) (!__builtin_constant_p(!!symbol))
#else
#define BPF_IS_WEAK_(symbol) __builtin_has_attribute(*symbol, __weak__)
#endif
#define bpf_ksym_exists(symbol)                                                              \
	({                                                                                   \
		_Static_assert(BPF_IS_WEAK_(symbol), #symbol " must be declared as __weak"); \
		!!symbol;                                                                    \
	})

/* Keeps the compiler from knowing a variable's value, or from reordering memory accesses. */
#ifndef barrier
#define barrier() __asm__ volatile("" ::: "memory")
#endif
#ifndef barrier_var
#define barrier_var(variable) __asm__ volatile("" : "+r"(variable))
#endif

/* Stops the compilation if the compiler does not remove it. */
#ifndef __bpf_unreachable
#define __bpf_unreachable() __builtin_trap()
#endif

/* Calls the program in an entry of a program array, with an index that is known when the program is compiled. */
#ifdef __bpf__
static __always_inline void bpf_tail_call_static(void *ctx, const void *map, const __u32 slot)
{
	if (!__builtin_constant_p(slot))
		__bpf_unreachable();
	__asm__ volatile("r1 = %[ctx]\n\t"
			 "r2 = %[map]\n\t"
			 "r3 = %[slot]\n\t"
			 "call 12"
			 :
			 : [ctx] "r"(ctx), [map] "r"(map), [slot] "i"(slot)
			 : "r0", "r1", "r2", "r3", "r4", "r5");
}
#endif

#include "bpf_loops.h"
#include "bpf_print.h"

#endif
