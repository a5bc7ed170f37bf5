/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loops, comparisons, exceptions and sections without preemption. The names are those of the header bpf_experimental.h in the kernel's own
 * tests.
 */
#ifndef CORE_RELO_BPF_CONTROL_H
#define CORE_RELO_BPF_CONTROL_H

#include "bpf_helpers.h"

/*
 * Jumps to the label when the kernel's limit of iterations is reached (Linux 6.9). Assemblers before clang 19 do not know the instruction:
 * opcode 0xe5, no registers, the distance in 16 bits, 0 in 32 bits. They cannot write a distance in 16 bits alone.
 */
#ifdef __BPF_FEATURE_MAY_GOTO
#define BPF_MAY_GOTO_(label) __asm__ volatile goto("may_goto %l[" #label "]" : : : : label)
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BPF_MAY_GOTO_(label)                                                                              \
	__asm__ volatile goto("1: .byte 0xe5, 0\n\t.long ((%l[" #label "] - 1b - 8) / 8) & 0xffff\n\t.short 0" \
			      : : : : label)
#else
#define BPF_MAY_GOTO_(label)                                                                                      \
	__asm__ volatile goto("1: .byte 0xe5, 0\n\t.long (((%l[" #label "] - 1b - 8) / 8) & 0xffff) << 16\n\t.short 0" \
			      : : : : label)
#endif

/*
 * A condition of loops that the verifier need not bound: for (i = zero; i < n && can_loop; i++). It is true until the limit is reached. The
 * counter begins with a variable: the verifier follows a loop whose numbers it knows step by step.
 */
#define can_loop                        \
	({                              \
		__label__ limit_, end_; \
		_Bool can_ = 1;         \
		BPF_MAY_GOTO_(limit_);  \
		goto end_;              \
	limit_:                         \
		can_ = 0;               \
	end_:;                          \
		can_;                   \
	})
/* The same as a statement in the loop, which leaves it, or jumps to a label of the function. */
#define cond_break BPF_AT_LIMIT_(break)
#define cond_break_label(label) BPF_AT_LIMIT_(goto label)
#define BPF_AT_LIMIT_(statement)        \
	({                              \
		__label__ limit_, end_; \
		BPF_MAY_GOTO_(limit_);  \
		goto end_;              \
	limit_:                         \
		statement;              \
	end_:;                          \
	})

/*
 * Comparisons that the compiler leaves as they are, of a variable with a number: the verifier then knows the variable's range.
 * bpf_cmp_likely(x, <, 10) expects that the comparison is true, bpf_cmp_unlikely that it is false: the code of the other case is further
 * away. Only bpf_cmp_unlikely takes &, which has no opposite.
 *
 * The operand has the type short so that the compiler does not extend the variable in another register. Numbers of 64 bits need a register.
 */
#define bpf_cmp_unlikely(left, operator, right)                                            \
	({                                                                                 \
		__label__ jump_, end_;                                                     \
		_Bool is_true_ = 1;                                                        \
		BPF_COMPARE_(left, operator, right, jump_);                                \
		is_true_ = 0;                                                              \
		goto end_;                                                                 \
	jump_:                                                                             \
	end_:;                                                                             \
		is_true_;                                                                  \
	})
#define bpf_cmp_likely(left, operator, right)                                              \
	({                                                                                 \
		_Bool is_true_;                                                            \
		_Static_assert(BPF_HAS_OPPOSITE_(operator),                                \
			       "bpf_cmp_likely takes ==, !=, <, <=, > and >=");            \
		if (BPF_IS_OPERATOR_(operator, "=="))                                      \
			is_true_ = !bpf_cmp_unlikely(left, !=, right);                     \
		else if (BPF_IS_OPERATOR_(operator, "!="))                                 \
			is_true_ = !bpf_cmp_unlikely(left, ==, right);                     \
		else if (BPF_IS_OPERATOR_(operator, "<"))                                  \
			is_true_ = !bpf_cmp_unlikely(left, >=, right);                     \
		else if (BPF_IS_OPERATOR_(operator, "<="))                                 \
			is_true_ = !bpf_cmp_unlikely(left, >, right);                      \
		else if (BPF_IS_OPERATOR_(operator, ">"))                                  \
			is_true_ = !bpf_cmp_unlikely(left, <=, right);                     \
		else                                                                       \
			is_true_ = !bpf_cmp_unlikely(left, <, right);                      \
		is_true_;                                                                  \
	})
#define BPF_IS_OPERATOR_(operator, text) (__builtin_strcmp(#operator, text) == 0)
#define BPF_HAS_OPPOSITE_(operator)                                                        \
	(BPF_IS_OPERATOR_(operator, "==") || BPF_IS_OPERATOR_(operator, "!=") ||           \
	 BPF_IS_OPERATOR_(operator, "<") || BPF_IS_OPERATOR_(operator, "<=") ||            \
	 BPF_IS_OPERATOR_(operator, ">") || BPF_IS_OPERATOR_(operator, ">="))
#define BPF_COMPARES_SIGNED_(left, operator)                                               \
	((__typeof__(left))-1 < (__typeof__(left))1 && !BPF_IS_OPERATOR_(operator, "==") && \
	 !BPF_IS_OPERATOR_(operator, "!=") && !BPF_IS_OPERATOR_(operator, "&"))
#define BPF_COMPARE_(left, operator, right, label)                                         \
	do {                                                                               \
		__typeof__(left) left_ = (left);                                           \
		__typeof__(right) right_ = (right);                                        \
		_Static_assert(sizeof(&(left)), "the first operand is a variable");        \
		if (BPF_COMPARES_SIGNED_(left, operator) && sizeof(right_) == 8)           \
			BPF_COMPARE_AS_("s" #operator, "r", left_, right_, label);         \
		else if (BPF_COMPARES_SIGNED_(left, operator))                             \
			BPF_COMPARE_AS_("s" #operator, "ri", left_, right_, label);        \
		else if (sizeof(right_) == 8)                                              \
			BPF_COMPARE_AS_(#operator, "r", left_, right_, label);             \
		else                                                                       \
			BPF_COMPARE_AS_(#operator, "ri", left_, right_, label);            \
	} while (0)
#define BPF_COMPARE_AS_(operator, constraint, left, right, label)                          \
	__asm__ volatile goto("if %[a] " operator " %[b] goto %l[" #label "]"              \
			      : : [a] "r"((short)(left)), [b] constraint(right) : : label)

/* Ends the program with a result (Linux 6.7). The exception callback of the program, if it has one, gets the number. */
extern void bpf_throw(__u64 cookie) __weak __ksym;
#define __exception_cb(name) __attribute__((btf_decl_tag("exception_callback:" #name)))

/* Ends the program if a condition is false: with 0, or with another number. */
#define bpf_assert(condition) bpf_assert_with(condition, 0)
#define bpf_assert_with(condition, value)       \
	do {                                    \
		if (!(condition))               \
			bpf_throw(value);       \
	} while (0)
/* Ends the program if a variable is less than `least` or more than `most`. The verifier knows the range afterwards. */
#define bpf_assert_range(variable, least, most) bpf_assert_range_with(variable, least, most, 0)
#define bpf_assert_range_with(variable, least, most, value)                                                          \
	({                                                                                                           \
		_Static_assert((least) <= (most), "the range is empty");                                             \
		barrier_var(variable);                                                                               \
		if (bpf_cmp_unlikely(variable, <, least) || bpf_cmp_unlikely(variable, >, most))                     \
			bpf_throw(value);                                                                            \
	})

/* From here to the end of the block, the program stays on its CPU (Linux 6.10). */
extern void bpf_preempt_disable(void) __weak __ksym;
extern void bpf_preempt_enable(void) __weak __ksym;
static __inline__ __attribute__((always_inline)) void bpf_end_preempt_guard_(__attribute__((unused)) char *guard)
{
	bpf_preempt_enable();
}
#define bpf_guard_preempt()                                                                                          \
	char ___bpf_apply(preempt_guard_, __COUNTER__) __attribute__((unused, cleanup(bpf_end_preempt_guard_))) =     \
		(bpf_preempt_disable(), 0)

/* In programs that may sleep: objects under RCU stay until the lock is given up (Linux 6.2). */
extern void bpf_rcu_read_lock(void) __weak __ksym;
extern void bpf_rcu_read_unlock(void) __weak __ksym;

#endif
