/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The steps of BPF_CORE_READ: macros for lists of up to 10 names, a pointer and the members of `pointer->a->b->c`. */
#ifndef CORE_RELO_BPF_CORE_CHAIN_H
#define CORE_RELO_BPF_CORE_CHAIN_H

#include "bpf_arguments.h"

/* As the macros of bpf_arguments.h, for lists of up to 10. ___empty is 0 for an empty list, N for others. */
#define ___concat(a, b) a ## b
#define ___apply(fn, n) ___concat(fn, n)
#define ___nth(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, picked, ...) picked
#define ___narg(...) ___nth(_ __VA_OPT__(,) __VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define ___empty(...) ___nth(_ __VA_OPT__(,) __VA_ARGS__, N, N, N, N, N, N, N, N, N, N, 0)

/* The last name. */
#define ___last1(a) a
#define ___last2(a, ...) ___last1(__VA_ARGS__)
#define ___last3(a, ...) ___last2(__VA_ARGS__)
#define ___last4(a, ...) ___last3(__VA_ARGS__)
#define ___last5(a, ...) ___last4(__VA_ARGS__)
#define ___last6(a, ...) ___last5(__VA_ARGS__)
#define ___last7(a, ...) ___last6(__VA_ARGS__)
#define ___last8(a, ...) ___last7(__VA_ARGS__)
#define ___last9(a, ...) ___last8(__VA_ARGS__)
#define ___last10(a, ...) ___last9(__VA_ARGS__)
#define ___last(...) ___apply(___last, ___narg(__VA_ARGS__))(__VA_ARGS__)

/* All names but the last. */
#define ___nolast2(a, last) a
#define ___nolast3(a, ...) a, ___nolast2(__VA_ARGS__)
#define ___nolast4(a, ...) a, ___nolast3(__VA_ARGS__)
#define ___nolast5(a, ...) a, ___nolast4(__VA_ARGS__)
#define ___nolast6(a, ...) a, ___nolast5(__VA_ARGS__)
#define ___nolast7(a, ...) a, ___nolast6(__VA_ARGS__)
#define ___nolast8(a, ...) a, ___nolast7(__VA_ARGS__)
#define ___nolast9(a, ...) a, ___nolast8(__VA_ARGS__)
#define ___nolast10(a, ...) a, ___nolast9(__VA_ARGS__)
#define ___nolast(...) ___apply(___nolast, ___narg(__VA_ARGS__))(__VA_ARGS__)

/* a->b->c for the list a, b, c. */
#define ___arrow1(a) a
#define ___arrow2(a, ...) a->___arrow1(__VA_ARGS__)
#define ___arrow3(a, ...) a->___arrow2(__VA_ARGS__)
#define ___arrow4(a, ...) a->___arrow3(__VA_ARGS__)
#define ___arrow5(a, ...) a->___arrow4(__VA_ARGS__)
#define ___arrow6(a, ...) a->___arrow5(__VA_ARGS__)
#define ___arrow7(a, ...) a->___arrow6(__VA_ARGS__)
#define ___arrow8(a, ...) a->___arrow7(__VA_ARGS__)
#define ___arrow9(a, ...) a->___arrow8(__VA_ARGS__)
#define ___arrow10(a, ...) a->___arrow9(__VA_ARGS__)
#define ___arrow(...) ___apply(___arrow, ___narg(__VA_ARGS__))(__VA_ARGS__)

/* The type of a->b->c: without const, where the compiler can, because variables of this type have no initial value. */
#if defined(__clang__) && __clang_major__ >= 19 || !defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 14
#define ___type(...) __typeof_unqual__(___arrow(__VA_ARGS__))
#else
#define ___type(...) __typeof__(___arrow(__VA_ARGS__))
#endif

/* One read: of source->member, whose source has the type `source_type`, into *to. `read` reads (to, size, from). */
#define ___read(read, to, source_type, source, member) \
	read((void *)(to), sizeof(*(to)), &((source_type)(source))->member)

/* Reads the pointers on the way to the last of N names into the variable at_. */
#define CORE_STEP_(read, member, ...) ___read(read, &at_, ___type(__VA_ARGS__), at_, member);
#define CORE_STEPS_3_(read, a, b, c) ___read(read, &at_, ___type(a), a, b);
#define CORE_STEPS_4_(read, a, b, c, d) CORE_STEPS_3_(read, a, b, c) CORE_STEP_(read, c, a, b)
#define CORE_STEPS_5_(read, a, b, c, d, e) CORE_STEPS_4_(read, a, b, c, d) CORE_STEP_(read, d, a, b, c)
#define CORE_STEPS_6_(read, a, b, c, d, e, f) CORE_STEPS_5_(read, a, b, c, d, e) CORE_STEP_(read, e, a, b, c, d)
#define CORE_STEPS_7_(read, a, b, c, d, e, f, g) \
	CORE_STEPS_6_(read, a, b, c, d, e, f) CORE_STEP_(read, f, a, b, c, d, e)
#define CORE_STEPS_8_(read, a, b, c, d, e, f, g, h) \
	CORE_STEPS_7_(read, a, b, c, d, e, f, g) CORE_STEP_(read, g, a, b, c, d, e, f)
#define CORE_STEPS_9_(read, a, b, c, d, e, f, g, h, i) \
	CORE_STEPS_8_(read, a, b, c, d, e, f, g, h) CORE_STEP_(read, h, a, b, c, d, e, f, g)
#define CORE_STEPS_10_(read, a, b, c, d, e, f, g, h, i, j) \
	CORE_STEPS_9_(read, a, b, c, d, e, f, g, h, i) CORE_STEP_(read, i, a, b, c, d, e, f, g, h)
#define CORE_STEPS_(read, ...) ___apply(___apply(CORE_STEPS_, ___narg(__VA_ARGS__)), _)(read, __VA_ARGS__)

/* Reads source->a->b… into *to: the pointers on the way with `read_pointer`, the last member with `read`. */
#define ___core_read(read, read_pointer, to, source, a, ...) \
	___apply(___apply(CORE_READ_, ___empty(__VA_ARGS__)), _)(read, read_pointer, to, source, a, ##__VA_ARGS__)
#define CORE_READ_0_(read, read_pointer, to, source, a) ___read(read, to, ___type(source), source, a);
#define CORE_READ_N_(read, read_pointer, to, ...) \
	const void *at_;                          \
	CORE_STEPS_(read_pointer, __VA_ARGS__)    \
	___read(read, to, ___type(___nolast(__VA_ARGS__)), at_, ___last(__VA_ARGS__));

#endif
