/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Formatted output: bpf_printk, BPF_SNPRINTF, BPF_SEQ_PRINTF, bpf_stream_printk. */
#ifndef CORE_RELO_BPF_PRINT_H
#define CORE_RELO_BPF_PRINT_H

#include "bpf_arguments.h"
#include "bpf_helper_defs.h"

/* Evaluates `call` with the format in `format_` and the values as words in `words_`. Values may be pointers. */
#define BPF_WITH_WORDS_(call, format, values...)                                \
	({                                                                      \
		static const char format_[] = format;                           \
		unsigned long long words_[BPF_COUNT_(values)];                 \
		_Pragma("GCC diagnostic push")                                  \
		_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")          \
		___bpf_fill(words_, ##values);                                  \
		_Pragma("GCC diagnostic pop")                                   \
		call;                                                           \
	})

/* Prints to /sys/kernel/tracing/trace_pipe. __bpf_printk takes up to three values, __bpf_vprintk up to 12 (Linux 5.16). */
#define bpf_printk(format, values...) ___bpf_pick_printk(values)(format, ##values)
#define __bpf_printk(format, values...)                                         \
	({                                                                      \
		BPF_PRINTK_FMT_MOD char format_[] = format;                     \
		bpf_trace_printk(format_, sizeof(format_), ##values);           \
	})
#define __bpf_vprintk(format, values...) \
	BPF_WITH_WORDS_(bpf_trace_vprintk(format_, sizeof(format_), words_, sizeof(words_)), format, ##values)
#define ___bpf_pick_printk(...)                                                                                        \
	___bpf_nth(_ __VA_OPT__(,) __VA_ARGS__, __bpf_vprintk, __bpf_vprintk, __bpf_vprintk, __bpf_vprintk, __bpf_vprintk,        \
		   __bpf_vprintk, __bpf_vprintk, __bpf_vprintk, __bpf_vprintk, __bpf_printk, __bpf_printk, __bpf_printk, \
		   __bpf_printk)

/* With BPF_NO_GLOBAL_DATA, the formats of __bpf_printk are on the stack: for kernels before 5.2, which have no global data. */
#ifdef BPF_NO_GLOBAL_DATA
#define BPF_PRINTK_FMT_MOD
#else
#define BPF_PRINTK_FMT_MOD static const
#endif

/* Formats text to an array of characters. */
#define BPF_SNPRINTF(out, out_size, format, values...) \
	BPF_WITH_WORDS_(bpf_snprintf(out, out_size, format_, words_, sizeof(words_)), format, ##values)

/* Formats text to the output of an iterator. */
#define BPF_SEQ_PRINTF(seq, format, values...) \
	BPF_WITH_WORDS_(bpf_seq_printf(seq, format_, sizeof(format_), words_, sizeof(words_)), format, ##values)

/* Prints to a stream of the program (Linux 7.0): 1 is stdout, 2 stderr. vmlinux.h declares bpf_stream_vprintk. */
#define bpf_stream_printk(stream, format, values...) \
	BPF_WITH_WORDS_(bpf_stream_vprintk(stream, format_, words_, sizeof(words_)), format, ##values)

#endif
