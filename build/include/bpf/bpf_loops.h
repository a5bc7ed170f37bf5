/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loops over iterators of the kernel (Linux 6.4). The iterator is the variable `___it` in the loop. It is destroyed when the loop ends,
 * also by `break` and `return`.
 */
#ifndef CORE_RELO_BPF_LOOPS_H
#define CORE_RELO_BPF_LOOPS_H

struct bpf_iter_num;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __weak __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __weak __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __weak __ksym;

/*
 * Declares `___it` and calls the iterator's _new once. The second declaration only makes this call part of the `for`; it names the
 * function _destroy, because clang writes no BTF for functions that only a cleanup attribute names.
 */
#define BPF_ITERATOR_(type, arguments...)                                                                       \
	struct bpf_iter_##type ___it __attribute__((aligned(8), cleanup(bpf_iter_##type##_destroy))),           \
		*setup_ __attribute__((unused)) =                                                               \
			(bpf_iter_##type##_new(&___it, ##arguments), (void)bpf_iter_##type##_destroy, (void *)0)

/* Over the elements of an iterator: bpf_for_each(task, task, NULL, BPF_TASK_ITER_ALL_PROCS). */
#ifndef bpf_for_each
#define bpf_for_each(type, element, arguments...) \
	for (BPF_ITERATOR_(type, ##arguments); ((element) = bpf_iter_##type##_next(&___it));)
#endif

/* Over the numbers from `start` to `end` - 1. The verifier knows the range of `i`. */
#ifndef bpf_for
#define bpf_for(i, start, end)                                                    \
	for (BPF_ITERATOR_(num, (start), (end)); ({                               \
		     int *next_ = bpf_iter_num_next(&___it);                      \
		     (next_ && ((i) = *next_, (i) >= (start) && (i) < (end)));    \
	     });)
#endif

/* A number of times. */
#ifndef bpf_repeat
#define bpf_repeat(times) for (BPF_ITERATOR_(num, 0, (times)); bpf_iter_num_next(&___it);)
#endif

#endif
