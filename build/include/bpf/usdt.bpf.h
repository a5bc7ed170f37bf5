/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Probes that the authors of user-space programs put in (USDT). BPF_USDT declares a program with the arguments of the probe. The loader
 * stores where the arguments of each probe are in two maps, whose names and layout are those of libbpf 1.7's header of the same name.
 * Include vmlinux.h before it, for struct pt_regs.
 */
#ifndef CORE_RELO_USDT_BPF_H
#define CORE_RELO_USDT_BPF_H

#include "bpf_tracing.h"

/* The probes of an object, and the places of their instructions on kernels before 5.15. */
#ifndef BPF_USDT_MAX_SPEC_CNT
#define BPF_USDT_MAX_SPEC_CNT 256
#endif
#ifndef BPF_USDT_MAX_IP_CNT
#define BPF_USDT_MAX_IP_CNT (4 * BPF_USDT_MAX_SPEC_CNT)
#endif
#define BPF_USDT_MAX_ARG_CNT 12

enum bpf_usdt_place_ {
	/* The argument is a number. */
	BPF_USDT_NUMBER_,
	/* It is in a register. */
	BPF_USDT_REGISTER_,
	/* It is in memory, at a register plus an offset … */
	BPF_USDT_MEMORY_,
	/* … and plus an index register. */
	BPF_USDT_INDEXED_,
};

struct __bpf_usdt_arg_spec {
	/* The number, or the offset. */
	__u64 value;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	__u8 place;
	__u8 unused_;
	/* The offset of the index register in struct pt_regs in the low 12 bits, the shift of the index above. */
	__u16 index;
	__u8 unused2_[2];
#else
	__u8 unused_[2];
	/* The offset of the index register in the high 12 bits, the shift of the index below. */
	__u16 index;
	__u8 place;
	__u8 unused2_;
#endif
	/* The offset of the register in struct pt_regs. */
	__s16 register_;
	_Bool is_signed;
	/* The bits of a word that the argument does not have. */
	__u8 unused_bits;
};

struct __bpf_usdt_spec {
	struct __bpf_usdt_arg_spec args[BPF_USDT_MAX_ARG_CNT];
	__u64 cookie;
	__s16 arg_count;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BPF_USDT_MAX_SPEC_CNT);
	__type(key, int);
	__type(value, struct __bpf_usdt_spec);
} __bpf_usdt_specs SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BPF_USDT_MAX_IP_CNT);
	__type(key, long);
	__type(value, __u32);
} __bpf_usdt_ip_to_spec_id SEC(".maps") __weak;

extern const _Bool LINUX_HAS_BPF_COOKIE __kconfig;

/* Returns the specification of the probe that was hit. */
static __always_inline struct __bpf_usdt_spec *bpf_usdt_spec_(struct pt_regs *ctx)
{
	int id;

	if (LINUX_HAS_BPF_COOKIE) {
		id = (int)bpf_get_attach_cookie(ctx);
	} else {
		long address = (long)PT_REGS_IP(ctx);
		__u32 *found = bpf_map_lookup_elem(&__bpf_usdt_ip_to_spec_id, &address);

		if (!found)
			return NULL;
		id = (int)*found;
	}
	return bpf_map_lookup_elem(&__bpf_usdt_specs, &id);
}

/* Returns an argument's specification. The index is below 12, which the verifier sees. */
static __always_inline struct __bpf_usdt_arg_spec *bpf_usdt_arg_spec_(struct __bpf_usdt_spec *spec, __u64 index)
{
	barrier_var(index);
	if (index >= BPF_USDT_MAX_ARG_CNT)
		return NULL;
	return index < (__u64)spec->arg_count ? &spec->args[index] : NULL;
}

/* Reads a register by its offset in struct pt_regs. */
static __always_inline long bpf_usdt_register_(struct pt_regs *ctx, int offset, __u64 *value)
{
	return bpf_probe_read_kernel(value, sizeof(*value), (char *)ctx + offset);
}

/* Returns the number of arguments, or -ESRCH if the loader does not know the probe. */
static __always_inline int bpf_usdt_arg_cnt(struct pt_regs *ctx)
{
	struct __bpf_usdt_spec *spec = bpf_usdt_spec_(ctx);

	return spec ? spec->arg_count : -3;
}

/* Returns the size of an argument in bytes, -ESRCH as above, or -ENOENT if there is no such argument. */
static __always_inline int bpf_usdt_arg_size(struct pt_regs *ctx, __u64 index)
{
	struct __bpf_usdt_spec *spec = bpf_usdt_spec_(ctx);
	struct __bpf_usdt_arg_spec *arg;

	if (!spec)
		return -3;
	arg = bpf_usdt_arg_spec_(spec, index);
	return arg ? 8 - arg->unused_bits / 8 : -2;
}

/* Stores an argument. Returns 0, an error as above, or the error of a read. */
static __always_inline int bpf_usdt_arg(struct pt_regs *ctx, __u64 index, long *result)
{
	struct __bpf_usdt_spec *spec = bpf_usdt_spec_(ctx);
	struct __bpf_usdt_arg_spec *arg;
	__u64 value, offset = 0;
	long error = 0;

	*result = 0;
	if (!spec)
		return -3;
	arg = bpf_usdt_arg_spec_(spec, index);
	if (!arg)
		return -2;
	value = arg->value;
	switch (arg->place) {
	case BPF_USDT_NUMBER_:
		break;
	case BPF_USDT_REGISTER_:
		error = bpf_usdt_register_(ctx, arg->register_, &value);
		break;
	case BPF_USDT_INDEXED_:
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		error = bpf_usdt_register_(ctx, arg->index & 0xfff, &offset);
		offset <<= arg->index >> 12;
#else
		error = bpf_usdt_register_(ctx, arg->index >> 4, &offset);
		offset <<= arg->index & 0xf;
#endif
		if (error)
			return (int)error;
		/* fallthrough */
	case BPF_USDT_MEMORY_:
		offset += arg->value;
		error = bpf_usdt_register_(ctx, arg->register_, &value);
		if (error)
			return (int)error;
		error = bpf_probe_read_user(&value, sizeof(value), (const void *)(unsigned long)(value + offset));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		value >>= arg->unused_bits;
#endif
		break;
	default:
		return -22;
	}
	if (error)
		return (int)error;
	value <<= arg->unused_bits;
	*result = arg->is_signed ? (long)value >> arg->unused_bits : (long)(value >> arg->unused_bits);
	return 0;
}

/* Returns the number that user space gave to the attachment, 0 if there is none. */
static __always_inline long bpf_usdt_cookie(struct pt_regs *ctx)
{
	struct __bpf_usdt_spec *spec = bpf_usdt_spec_(ctx);

	return spec ? (long)spec->cookie : 0;
}

#define BPF_USDT_ARG_(ctx, index) , ({ long value_; bpf_usdt_arg(ctx, index, &value_); (void *)value_; })
#define BPF_USDT_0_(ctx)
#define BPF_USDT_1_(ctx) BPF_USDT_ARG_(ctx, 0)
#define BPF_USDT_2_(ctx) BPF_USDT_1_(ctx) BPF_USDT_ARG_(ctx, 1)
#define BPF_USDT_3_(ctx) BPF_USDT_2_(ctx) BPF_USDT_ARG_(ctx, 2)
#define BPF_USDT_4_(ctx) BPF_USDT_3_(ctx) BPF_USDT_ARG_(ctx, 3)
#define BPF_USDT_5_(ctx) BPF_USDT_4_(ctx) BPF_USDT_ARG_(ctx, 4)
#define BPF_USDT_6_(ctx) BPF_USDT_5_(ctx) BPF_USDT_ARG_(ctx, 5)
#define BPF_USDT_7_(ctx) BPF_USDT_6_(ctx) BPF_USDT_ARG_(ctx, 6)
#define BPF_USDT_8_(ctx) BPF_USDT_7_(ctx) BPF_USDT_ARG_(ctx, 7)
#define BPF_USDT_9_(ctx) BPF_USDT_8_(ctx) BPF_USDT_ARG_(ctx, 8)
#define BPF_USDT_10_(ctx) BPF_USDT_9_(ctx) BPF_USDT_ARG_(ctx, 9)
#define BPF_USDT_11_(ctx) BPF_USDT_10_(ctx) BPF_USDT_ARG_(ctx, 10)
#define BPF_USDT_12_(ctx) BPF_USDT_11_(ctx) BPF_USDT_ARG_(ctx, 11)

/* A program for a probe of user space: SEC("usdt/PATH:PROVIDER:NAME"), or SEC("usdt"). */
#define BPF_USDT(name, arguments...) \
	BPF_BODY_(name, struct pt_regs, BPF_PICK_(BPF_USDT_, ##arguments)(ctx), ##arguments)

#endif
