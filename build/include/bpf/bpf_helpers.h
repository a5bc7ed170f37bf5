/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Macros for BPF programs, with the names that libbpf's header of the same name has. Include vmlinux.h or <linux/bpf.h> before it;
 * without either, bpf_types.h provides the types.
 */
#ifndef CORE_RELO_BPF_HELPERS_H
#define CORE_RELO_BPF_HELPERS_H

#if !defined(__VMLINUX_H__) && !defined(__LINUX_BPF_H__)
#include "bpf_types.h"
#endif
#include "bpf_helper_defs.h"

/* The section of a program, map or variable. The section of a program decides its type. `extern` declarations ignore `used`. */
#define SEC(name)                                                        \
	_Pragma("GCC diagnostic push")                                   \
	_Pragma("GCC diagnostic ignored \"-Wignored-attributes\"")       \
	__attribute__((section(name), used))                             \
	_Pragma("GCC diagnostic pop")

/* The members of a map's definition. */
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name
#define __array(name, value) __typeof__(value) *name[]
#define __ulong(name, value) enum { BPF_JOIN_(ulong_value_, __COUNTER__) = value } name

/* An enumerator of its own for each __ulong. */
#define BPF_JOIN_(a, b) BPF_JOIN__(a, b)
#define BPF_JOIN__(a, b) a##b

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
#define __always_inline inline __attribute__((always_inline))
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
#define container_of(pointer, type, member) \
	((type *)((char *)(1 ? (pointer) : &((type *)0)->member) - offsetof(type, member)))

#ifndef likely
#define likely(condition) __builtin_expect(!!(condition), 1)
#endif
#ifndef unlikely
#define unlikely(condition) __builtin_expect(!!(condition), 0)
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
#define bpf_ksym_exists(symbol)                                                                        \
	({                                                                                             \
		_Static_assert(!__builtin_constant_p(!!symbol), #symbol " must be declared as __weak"); \
		!!symbol;                                                                              \
	})

/* Keeps the compiler from knowing a variable's value, or from reordering memory accesses. */
#define barrier() __asm__ volatile("" ::: "memory")
#define barrier_var(variable) __asm__ volatile("" : "+r"(variable))

/* Stops the compilation if the compiler does not remove it. */
#ifndef __bpf_unreachable
#define __bpf_unreachable() __builtin_trap()
#endif

/* Calls the program in an entry of a program array, with an index that is known when the program is compiled. */
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

/* The number of arguments, up to 12. */
#define BPF_COUNT_(...) BPF_COUNT__(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define BPF_COUNT__(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, count, ...) count
/* The same after a first argument that is not counted, so that none is 0. */
#define BPF_COUNT_AFTER_(...) BPF_COUNT_AFTER__(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define BPF_COUNT_AFTER__(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, count, ...) count

/* Stores each argument as a word. */
#define BPF_WORDS_0_(to)
#define BPF_WORDS_1_(to, x) to[0] = (unsigned long long)(x);
#define BPF_WORDS_2_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_1_((to + 1), __VA_ARGS__)
#define BPF_WORDS_3_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_2_((to + 1), __VA_ARGS__)
#define BPF_WORDS_4_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_3_((to + 1), __VA_ARGS__)
#define BPF_WORDS_5_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_4_((to + 1), __VA_ARGS__)
#define BPF_WORDS_6_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_5_((to + 1), __VA_ARGS__)
#define BPF_WORDS_7_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_6_((to + 1), __VA_ARGS__)
#define BPF_WORDS_8_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_7_((to + 1), __VA_ARGS__)
#define BPF_WORDS_9_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_8_((to + 1), __VA_ARGS__)
#define BPF_WORDS_10_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_9_((to + 1), __VA_ARGS__)
#define BPF_WORDS_11_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_10_((to + 1), __VA_ARGS__)
#define BPF_WORDS_12_(to, x, ...) to[0] = (unsigned long long)(x); BPF_WORDS_11_((to + 1), __VA_ARGS__)
#define BPF_WORDS_(to, ...) \
	BPF_JOIN_(BPF_JOIN_(BPF_WORDS_, BPF_COUNT_AFTER_(0, ##__VA_ARGS__)), _)(to, ##__VA_ARGS__)

/* Prints to /sys/kernel/tracing/trace_pipe. More than three arguments need Linux 5.16. */
#define bpf_printk(format, ...) BPF_JOIN_(BPF_PRINTK_, BPF_COUNT_AFTER_(0, ##__VA_ARGS__))(format, ##__VA_ARGS__)
#define BPF_PRINTK_0(format) BPF_PRINTK_FEW_(format)
#define BPF_PRINTK_1(format, ...) BPF_PRINTK_FEW_(format, __VA_ARGS__)
#define BPF_PRINTK_2(format, ...) BPF_PRINTK_FEW_(format, __VA_ARGS__)
#define BPF_PRINTK_3(format, ...) BPF_PRINTK_FEW_(format, __VA_ARGS__)
#define BPF_PRINTK_4(format, ...) BPF_PRINTK_MANY_(format, __VA_ARGS__)
#define BPF_PRINTK_5(format, ...) BPF_PRINTK_MANY_(format, __VA_ARGS__)
#define BPF_PRINTK_6(format, ...) BPF_PRINTK_MANY_(format, __VA_ARGS__)
#define BPF_PRINTK_7(format, ...) BPF_PRINTK_MANY_(format, __VA_ARGS__)
#define BPF_PRINTK_8(format, ...) BPF_PRINTK_MANY_(format, __VA_ARGS__)
#define BPF_PRINTK_9(format, ...) BPF_PRINTK_MANY_(format, __VA_ARGS__)
#define BPF_PRINTK_10(format, ...) BPF_PRINTK_MANY_(format, __VA_ARGS__)
#define BPF_PRINTK_11(format, ...) BPF_PRINTK_MANY_(format, __VA_ARGS__)
#define BPF_PRINTK_12(format, ...) BPF_PRINTK_MANY_(format, __VA_ARGS__)
#define BPF_PRINTK_FEW_(format, ...)                                                    \
	({                                                                              \
		static const char ____fmt[] = format;                                   \
		bpf_trace_printk(____fmt, sizeof(____fmt), ##__VA_ARGS__);              \
	})
#define BPF_PRINTK_MANY_(format, ...) \
	BPF_WITH_WORDS_(bpf_trace_vprintk(____fmt, sizeof(____fmt), words_, sizeof(words_)), format, __VA_ARGS__)

/* Calls `function` with the format, and the arguments as an array of words. */
#define BPF_WITH_WORDS_(function, format, arguments...)                                 \
	({                                                                              \
		static const char ____fmt[] = format;                                   \
		unsigned long long words_[BPF_COUNT_AFTER_(0, ##arguments)];            \
		BPF_WORDS_(words_, ##arguments)                                         \
		function;                                                               \
	})

/* Formats text to an array of characters. */
#define BPF_SNPRINTF(out, out_size, format, arguments...) \
	BPF_WITH_WORDS_(bpf_snprintf(out, out_size, ____fmt, words_, sizeof(words_)), format, ##arguments)

/* Formats text to the output of an iterator. */
#define BPF_SEQ_PRINTF(seq, format, arguments...) \
	BPF_WITH_WORDS_(bpf_seq_printf(seq, ____fmt, sizeof(____fmt), words_, sizeof(words_)), format, ##arguments)

/* Prints to a stream of the program (Linux 7.0): 1 is stdout, 2 stderr. vmlinux.h declares bpf_stream_vprintk. */
#define bpf_stream_printk(stream, format, arguments...) \
	BPF_WITH_WORDS_(bpf_stream_vprintk(stream, ____fmt, words_, sizeof(words_)), format, ##arguments)

/* Loops that the verifier bounds (Linux 6.4): over numbers, and N times. */
struct bpf_iter_num;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __weak __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __weak __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __weak __ksym;

#ifndef bpf_for
#define bpf_for(i, start, end)                                                                          \
	for (struct bpf_iter_num it_ __attribute__((aligned(8), cleanup(bpf_iter_num_destroy))),        \
	     *setup_ __attribute__((unused)) = (bpf_iter_num_new(&it_, (start), (end)), (void)bpf_iter_num_destroy, (void *)0); \
	     ({                                                                                         \
		     int *next_ = bpf_iter_num_next(&it_);                                              \
		     next_ && ((i) = *next_, (i) >= (start) && (i) < (end));                            \
	     });)
#endif
/* Loops over the elements of an iterator of the kernel: bpf_for_each(task, task, NULL, BPF_TASK_ITER_ALL_PROCS). */
#ifndef bpf_for_each
#define bpf_for_each(type, element, arguments...)                                                                 \
	for (struct bpf_iter_##type it_ __attribute__((aligned(8), cleanup(bpf_iter_##type##_destroy))),          \
	     *setup_ __attribute__((unused)) = (bpf_iter_##type##_new(&it_, ##arguments), (void)bpf_iter_##type##_destroy, (void *)0);    \
	     ((element) = bpf_iter_##type##_next(&it_));)
#endif
#ifndef bpf_repeat
#define bpf_repeat(times)                                                                               \
	for (struct bpf_iter_num it_ __attribute__((aligned(8), cleanup(bpf_iter_num_destroy))),        \
	     *setup_ __attribute__((unused)) = (bpf_iter_num_new(&it_, 0, (times)), (void)bpf_iter_num_destroy, (void *)0);     \
	     bpf_iter_num_next(&it_);)
#endif

#endif
