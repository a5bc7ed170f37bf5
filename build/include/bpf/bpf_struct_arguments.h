/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* BPF_PROG2: programs whose arguments may be structs. */
#ifndef CORE_RELO_BPF_STRUCT_ARGUMENTS_H
#define CORE_RELO_BPF_STRUCT_ARGUMENTS_H

#include "bpf_arguments.h"

/* The number of pairs, from 0 to 12. An odd number of arguments counts as the pairs that it begins. */
#ifndef ___bpf_nth2
#define ___bpf_nth2(start, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, \
		    a24, picked, ...)                                                                                                \
	picked
#endif
#ifndef ___bpf_narg2
#define ___bpf_narg2(...) \
	___bpf_nth2(_ __VA_OPT__(,) __VA_ARGS__, 12, 12, 11, 11, 10, 10, 9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0)
#endif

/* The words of an argument of a type, and those of the arguments of all pairs. */
#define ___bpf_treg_cnt(type) ((sizeof(type) + 7) / 8)
#define ___bpf_reg_cnt0() (0)
#define ___bpf_reg_cnt1(type, name) (___bpf_treg_cnt(type))
#define ___bpf_reg_cnt2(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt1(__VA_ARGS__))
#define ___bpf_reg_cnt3(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt2(__VA_ARGS__))
#define ___bpf_reg_cnt4(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt3(__VA_ARGS__))
#define ___bpf_reg_cnt5(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt4(__VA_ARGS__))
#define ___bpf_reg_cnt6(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt5(__VA_ARGS__))
#define ___bpf_reg_cnt7(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt6(__VA_ARGS__))
#define ___bpf_reg_cnt8(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt7(__VA_ARGS__))
#define ___bpf_reg_cnt9(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt8(__VA_ARGS__))
#define ___bpf_reg_cnt10(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt9(__VA_ARGS__))
#define ___bpf_reg_cnt11(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt10(__VA_ARGS__))
#define ___bpf_reg_cnt12(type, name, ...) (___bpf_treg_cnt(type) + ___bpf_reg_cnt11(__VA_ARGS__))
#define ___bpf_reg_cnt(pairs...) ___bpf_apply(___bpf_reg_cnt, ___bpf_narg2(pairs))(pairs)

/* The argument whose first word is `at`. */
#define ___bpf_union_arg(type, name, at)                                                                      \
	({                                                                                                    \
		_Static_assert(sizeof(type) <= 16, "an argument has at most 16 bytes");                       \
		union {                                                                                       \
			type value;                                                                           \
			unsigned char one;                                                                    \
			unsigned short two;                                                                   \
			unsigned int four;                                                                    \
			unsigned long long words[___bpf_treg_cnt(type)];                                      \
		} argument_ = {};                                                                             \
		if (sizeof(type) == 1)                                                                        \
			argument_.one = ctx[at];                                                              \
		else if (sizeof(type) == 2)                                                                   \
			argument_.two = ctx[at];                                                              \
		else if (sizeof(type) == 4)                                                                   \
			argument_.four = ctx[at];                                                             \
		else                                                                                          \
			argument_.words[0] = ctx[at];                                                         \
		if (sizeof(type) > 8)                                                                         \
			argument_.words[___bpf_treg_cnt(type) - 1] = ctx[(at) + 1];                           \
		argument_.value;                                                                              \
	})

/* The arguments of all pairs, from word `at` on. */
#define BPF_VALUES_0_(at)
#define BPF_VALUES_1_(at, t, x) , ___bpf_union_arg(t, x, at)
#define BPF_VALUES_2_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_1_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define BPF_VALUES_3_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_2_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define BPF_VALUES_4_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_3_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define BPF_VALUES_5_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_4_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define BPF_VALUES_6_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_5_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define BPF_VALUES_7_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_6_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define BPF_VALUES_8_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_7_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define BPF_VALUES_9_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_8_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define BPF_VALUES_10_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_9_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define BPF_VALUES_11_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_10_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define BPF_VALUES_12_(at, t, x, ...) , ___bpf_union_arg(t, x, at) BPF_VALUES_11_((at) + ___bpf_treg_cnt(t), __VA_ARGS__)
#define ___bpf_ctx_arg(pairs...) ___bpf_apply(___bpf_apply(BPF_VALUES_, ___bpf_narg2(pairs)), _)(0, ##pairs)

/* The declarations of the parameters. */
#define ___bpf_ctx_decl0()
#define ___bpf_ctx_decl1(t, x) , t x
#define ___bpf_ctx_decl2(t, x, ...) , t x ___bpf_ctx_decl1(__VA_ARGS__)
#define ___bpf_ctx_decl3(t, x, ...) , t x ___bpf_ctx_decl2(__VA_ARGS__)
#define ___bpf_ctx_decl4(t, x, ...) , t x ___bpf_ctx_decl3(__VA_ARGS__)
#define ___bpf_ctx_decl5(t, x, ...) , t x ___bpf_ctx_decl4(__VA_ARGS__)
#define ___bpf_ctx_decl6(t, x, ...) , t x ___bpf_ctx_decl5(__VA_ARGS__)
#define ___bpf_ctx_decl7(t, x, ...) , t x ___bpf_ctx_decl6(__VA_ARGS__)
#define ___bpf_ctx_decl8(t, x, ...) , t x ___bpf_ctx_decl7(__VA_ARGS__)
#define ___bpf_ctx_decl9(t, x, ...) , t x ___bpf_ctx_decl8(__VA_ARGS__)
#define ___bpf_ctx_decl10(t, x, ...) , t x ___bpf_ctx_decl9(__VA_ARGS__)
#define ___bpf_ctx_decl11(t, x, ...) , t x ___bpf_ctx_decl10(__VA_ARGS__)
#define ___bpf_ctx_decl12(t, x, ...) , t x ___bpf_ctx_decl11(__VA_ARGS__)
#define ___bpf_ctx_decl(pairs...) ___bpf_apply(___bpf_ctx_decl, ___bpf_narg2(pairs))(pairs)

/*
 * BPF_PROG with structs of up to 16 bytes among the arguments: BPF_PROG2(name, struct a, first, int, second). A struct of more than 8
 * bytes is two words of the context.
 */
#define BPF_PROG2(name, pairs...)                                                                                       \
	name(unsigned long long *ctx);                                                                                  \
	static __always_inline __typeof__(name(0)) ____##name(unsigned long long *ctx ___bpf_ctx_decl(pairs));          \
	__typeof__(name(0)) name(unsigned long long *ctx)                                                               \
	{                                                                                                               \
		return ____##name(ctx ___bpf_ctx_arg(pairs));                                                              \
	}                                                                                                               \
	static __always_inline __typeof__(name(0))                                                                      \
		____##name(__attribute__((unused)) unsigned long long *ctx ___bpf_ctx_decl(pairs))

#endif
