/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The types and constants that programs use most, for sources without vmlinux.h and without the kernel's headers. If a type is
 * missing here, include vmlinux.h or <linux/bpf.h> before bpf_helpers.h.
 */
#ifndef CORE_RELO_BPF_TYPES_H
#define CORE_RELO_BPF_TYPES_H

#include "bpf_contexts.h"

/* bool, true and false, as in <stdbool.h>. They are words of the language since C23. */
#if !defined(bool) && !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 202311L)
#define bool _Bool
#define true 1
#define false 0
#endif

/* Return values of classifiers: include/uapi/linux/pkt_cls.h. */
#define TC_ACT_UNSPEC (-1)
#define TC_ACT_OK 0
#define TC_ACT_SHOT 2
#define TC_ACT_REDIRECT 7

/* The context of a system call's entry, tp/syscalls/sys_enter_…, and of its exit. */
struct trace_event_raw_sys_enter {
	__u64 common;
	long id;
	unsigned long args[6];
};

struct trace_event_raw_sys_exit {
	__u64 common;
	long id;
	long ret;
};

#endif
