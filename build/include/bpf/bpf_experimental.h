/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What is not part of libbpf's headers, and what programs copy from bpf_experimental.h in the kernel's own tests: the names are the same.
 * Include vmlinux.h before it. Prototypes of other kfuncs are in vmlinux.h (Linux 6.10 and later).
 */
#ifndef __BPF_EXPERIMENTAL__
#define __BPF_EXPERIMENTAL__

#include "bpf_helpers.h"
#include "bpf_core_read.h"
#include "bpf_tracing.h"
#include "bpf_control.h"
#include "bpf_objects.h"

/* Iterators for bpf_for_each: tasks, the tasks and children of a cgroup, memory areas of a task (Linux 6.7), bits of a number (6.11). */
struct bpf_iter_task;
struct bpf_iter_task_vma;
struct bpf_iter_css;
struct bpf_iter_css_task;
struct bpf_iter_bits;
struct cgroup_subsys_state;
struct vm_area_struct;
extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, unsigned int flags) __weak __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __weak __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __weak __ksym;
extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task, __u64 address) __weak __ksym;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __weak __ksym;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __weak __ksym;
extern int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start, unsigned int flags) __weak __ksym;
extern struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it) __weak __ksym;
extern void bpf_iter_css_destroy(struct bpf_iter_css *it) __weak __ksym;
extern int bpf_iter_css_task_new(struct bpf_iter_css_task *it, struct cgroup_subsys_state *css, unsigned int flags) __weak __ksym;
extern struct task_struct *bpf_iter_css_task_next(struct bpf_iter_css_task *it) __weak __ksym;
extern void bpf_iter_css_task_destroy(struct bpf_iter_css_task *it) __weak __ksym;
extern int bpf_iter_bits_new(struct bpf_iter_bits *it, const __u64 *words, __u32 word_count) __weak __ksym;
extern int *bpf_iter_bits_next(struct bpf_iter_bits *it) __weak __ksym;
extern void bpf_iter_bits_destroy(struct bpf_iter_bits *it) __weak __ksym;

/* Work that runs later and may sleep (Linux 6.10). The kernel called bpf_wq_set_callback bpf_wq_set_callback_impl up to 6.19. */
struct bpf_wq;
extern int bpf_wq_init(struct bpf_wq *wq, void *map, unsigned int flags) __weak __ksym;
extern int bpf_wq_start(struct bpf_wq *wq, unsigned int flags) __weak __ksym;
extern int bpf_wq_set_callback(struct bpf_wq *wq, int (*callback)(void *map, int *key, void *value), unsigned int flags) __weak __ksym;
extern int bpf_wq_set_callback_impl(struct bpf_wq *wq, int (*callback)(void *map, int *key, void *value), unsigned int flags,
				    void *aux) __weak __ksym;
#define bpf_wq_set_callback(wq, callback, flags)                                                \
	(bpf_ksym_exists(bpf_wq_set_callback_impl) ?                                            \
		 bpf_wq_set_callback_impl(wq, callback, flags, NULL) :                          \
		 bpf_wq_set_callback(wq, callback, flags))

#endif
