// A use of each name below the macros that libbpf documents, which programs use all the same, and what it means.
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#include "registers.h"
#include <bpf/bpf_tracing.h>

#define SAME(a, b) _Static_assert((a) == (b), #a)

/* Arguments: their number, their joined words, one of them. */
#ifndef __STRICT_ANSI__
SAME(___bpf_narg(), 0);
#endif
SAME(___bpf_narg(a), 1);
SAME(___bpf_narg(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 12);
SAME(___bpf_narg2(), 0);
SAME(___bpf_narg2(int, a, char, b), 2);
SAME(___narg(a, b, c, d, e, f, g, h, i, j), 10);
SAME(___bpf_concat(1, 2), 12);
SAME(___bpf_apply(1, ___bpf_narg(a, b)), 12);
SAME(___concat(1, 2), 12);
SAME(___apply(1, ___narg(a, b)), 12);
SAME(___bpf_nth(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14), 13);
SAME(___bpf_nth2(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26), 25);
SAME(___nth(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), 12);
SAME(___last(1, 2, 3), 3);
SAME(sizeof((char[]){ ___nolast(1, 2, 3, 4) }), 3);
#define EMPTY_0 1
#define EMPTY_N 2
SAME(___bpf_apply(EMPTY_, ___empty()), 1);
SAME(___bpf_apply(EMPTY_, ___empty(a, b)), 2);

/* Words of arguments that are structs. */
struct pair {
	long a, b;
};
SAME(___bpf_treg_cnt(char), 1);
SAME(___bpf_treg_cnt(struct pair), 2);
SAME(___bpf_reg_cnt(struct pair, a, int, b), 3);
static __always_inline int declared(int first ___bpf_ctx_decl(int, a, char, b))
{
	return first + a + b;
}

/* Byte order: constants are constant expressions. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
SAME(__bpf_constant_htons(0x1234), 0x3412);
SAME(__bpf_constant_htons(0x71234), 0x3412);
SAME(__bpf_constant_ntohl(0x12345678), 0x78563412);
SAME(__bpf_constant_cpu_to_be64(0x0102030405060708), 0x0807060504030201);
#else
SAME(__bpf_constant_htons(0x1234), 0x1234);
SAME(__bpf_constant_htons(0x71234), 0x1234);
SAME(__bpf_constant_ntohl(0x12345678), 0x12345678);
SAME(__bpf_constant_cpu_to_be64(0x0102030405060708), 0x0102030405060708);
#endif
SAME(___bpf_swab16(0x1234), 0x3412);
SAME(___bpf_swab32(0x12345678), 0x78563412);
SAME(___bpf_swab64(0x0102030405060708), 0x0807060504030201);
SAME(___bpf_mvb(0x1234, 16, 1, 0), 0x12);
SAME(___bpf_mvb(0x1234, 32, 0, 3), 0x34000000);

struct inner {
	const int number;
	unsigned int flag : 3;
} __attribute__((preserve_access_index));
struct outer {
	struct inner *const inner;
	char text[8];
} __attribute__((preserve_access_index));

__u64 sum;
_Bool can_store;

/* Lists of values, as schedulers collect them. */
#define COLLECT(values...)                                              \
	({                                                              \
		unsigned long long list_[___bpf_narg(values)] = {};     \
		___bpf_fill(list_, values);                             \
		sum += list_[0] + sizeof(list_);                        \
	})

SEC("raw_tp/sys_enter") int collect(unsigned long long *ctx)
{
	unsigned long long words[3];
	int *element, count = 0;
	__u16 port = ctx[0];

	COLLECT(4, 5, 6);
	___bpf_fill0(words, 0, 0);
	___bpf_fill2(words, 1, ctx[0], ctx[1]);
	___bpf_fill1(words, 0, 7);
	sum += words[0] + words[1] + words[2];
	sum += declared(___bpf_union_arg(int, x, 0)___bpf_ctx_arg(int, a, char, b));
	sum += __bpf_ntohs(port) + __bpf_htons(port) + __bpf_ntohl(count) + __bpf_htonl(count);
	sum += __bpf_cpu_to_be64(sum) + __bpf_be64_to_cpu(sum) + __bpf_constant_ntohs(2442);
	__bpf_printk("%d", count);
	__bpf_vprintk("%d %d %d %d", count, count, count, count);
	___bpf_pick_printk(1, 2, 3, 4)("%d %d %d %d", 1, 2, 3, 4);
	/* The iterator has this name. */
	bpf_for_each(num, element, 0, 3)
		count += *element + bpf_ksym_exists(bpf_iter_num_next) + sizeof(___it);
	return count;
}

/* CO-RE: the steps of BPF_CORE_READ. Members that are const make no variables that are const. */
SEC("raw_tp/sys_exit") int steps(unsigned long long *ctx)
{
	struct outer *outer = (void *)ctx[0];
	struct inner *inner = BPF_CORE_READ(outer, inner);
	___type((outer), inner, number) number = 0;
	unsigned long long bits = 0;
	char text[8];

	sum += sizeof(___arrow(outer, inner, number)) + BPF_CORE_READ(outer, inner, number);
	___read(bpf_core_read, &text, ___type(outer), outer, text);
	___core_read(bpf_core_read, bpf_core_read, &text, outer, text)
	sum += text[0] + number;
	__CORE_BITFIELD_PROBE_READ(&bits, inner, flag);
	sum += bits + __CORE_RELO(inner, flag, LSHIFT_U64);
	sum += __builtin_preserve_field_info(___bpf_field_ref(struct inner, number), BPF_FIELD_EXISTS);
	sum += __builtin_preserve_type_info(*___bpf_typeof(struct inner), BPF_TYPE_SIZE);
	return 0;
}

static __always_inline int four(unsigned long long *ctx, __u64 a, __u64 b, __u64 c)
{
	return ctx[3] + a + b + c;
}

SEC("raw_tp/sched_switch") int words(unsigned long long *ctx)
{
	return four(___bpf_ctx_cast(a, b, c));
}

static __always_inline int two(struct pt_regs *ctx, unsigned long long a, unsigned long long b)
{
	return !ctx + a + b;
}

SEC("kprobe/do_unlinkat") int registers(struct pt_regs *ctx)
{
	struct pt_regs *regs = ctx;

	sum += __PT_REGS_CAST(ctx)->__PT_PARM1_REG + __PT_REGS_CAST(ctx)->__PT_RC_REG;
	return two(___bpf_kprobe_args(a, b)) + two(___bpf_syscall_args(a, b)) + two(___bpf_syswrap_args(a, b)) +
	       two(___bpf_kretprobe_args(result), 0);
}

/* A body can be called by its name. */
SEC("tp_btf/sched_switch") int BPF_PROG(with_body, int a)
{
	return a;
}
SEC("raw_tp/sched_wakeup") int calls_body(unsigned long long *ctx)
{
	return ____with_body(ctx, 7);
}

char _license[] SEC("license") = "GPL";
