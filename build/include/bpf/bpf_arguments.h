/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Macros with a variable number of arguments. The names are those of libbpf's headers, because programs use them. */
#ifndef CORE_RELO_BPF_ARGUMENTS_H
#define CORE_RELO_BPF_ARGUMENTS_H

/* Joins two words as they are, or after their macros are expanded. */
#ifndef ___bpf_concat
#define ___bpf_concat(a, b) a ## b
#endif
#ifndef ___bpf_apply
#define ___bpf_apply(fn, n) ___bpf_concat(fn, n)
#endif

/*
 * The fourteenth argument. ___bpf_narg puts its own arguments before the numbers, which move the count to this position. The parameters
 * have libbpf's names: a program may define the macro again, in the same words only.
 */
#ifndef ___bpf_nth
#define ___bpf_nth(_, _1, _2, _3, _4, _5, _6, _7, _8, _9, _a, _b, _c, N, ...) N
#endif
/* The number of arguments, from 0 to 12. With -std=c17 instead of gnu17, only BPF_COUNT_ is 0 for none. */
#ifndef ___bpf_narg
#define ___bpf_narg(...) ___bpf_nth(_, ##__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#endif
#define BPF_COUNT_(...) ___bpf_nth(_ __VA_OPT__(,) __VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

/* ___bpf_fill(array, values…) stores up to 12 values from element 0 on; the numbered macros store from element `at` on. */
#define ___bpf_fill0(array, at, ...) do {} while (0)
#define ___bpf_fill1(array, at, value) (array)[at] = (value)
#define ___bpf_fill2(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill1(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill3(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill2(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill4(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill3(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill5(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill4(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill6(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill5(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill7(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill6(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill8(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill7(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill9(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill8(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill10(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill9(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill11(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill10(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill12(array, at, value, ...) ___bpf_fill1(array, at, value); ___bpf_fill11(array, (at) + 1, __VA_ARGS__)
#define ___bpf_fill(array, values...) ___bpf_apply(___bpf_fill, BPF_COUNT_(values))(array, 0, ##values)

#endif
