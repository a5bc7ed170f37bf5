/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Probes that the authors of user-space programs put in (USDT). BPF_USDT declares a program with the arguments of the probe. The loader
 * stores where the arguments of each probe are in two maps, whose names and layout are those of libbpf 1.7's header of the same name.
 * Include vmlinux.h before it, for struct pt_regs.
 */
#ifndef __USDT_BPF_H__
#define __USDT_BPF_H__

#if __has_include(<linux/errno.h>) && __has_include(<asm/errno.h>)
#include <linux/errno.h>
#endif
#include "bpf_helpers.h"
#include "bpf_tracing.h"

/* The errors of the functions below, on all machines. */
#ifndef ENOENT
#define ENOENT 2
#endif
#ifndef ESRCH
#define ESRCH 3
#endif
#ifndef EINVAL
#define EINVAL 22
#endif

/* The probes of an object, and the places of their instructions on kernels before 5.15. */
#ifndef BPF_USDT_MAX_SPEC_CNT
#define BPF_USDT_MAX_SPEC_CNT 256
#endif
#ifndef BPF_USDT_MAX_IP_CNT
#define BPF_USDT_MAX_IP_CNT (4 * BPF_USDT_MAX_SPEC_CNT)
#endif
#define BPF_USDT_MAX_ARG_CNT 12

enum __bpf_usdt_arg_type {
	/* The argument is a number. */
	BPF_USDT_ARG_CONST,
	/* It is in a register. */
	BPF_USDT_ARG_REG,
	/* It is in memory, at a register plus an offset … */
	BPF_USDT_ARG_REG_DEREF,
	/* … and plus an index register. */
	BPF_USDT_ARG_SIB,
};

struct __bpf_usdt_arg_spec {
	/* The number, or the offset. */
	__u64 val_off;
	/* The type, and the index register's offset in struct pt_regs with the number of bits by which its value is shifted. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	enum __bpf_usdt_arg_type arg_type : 8;
	__u16 idx_reg_off : 12;
	__u16 scale_bitshift : 4;
	__u8 __reserved : 8;
#else
	__u8 __reserved : 8;
	__u16 idx_reg_off : 12;
	__u16 scale_bitshift : 4;
	enum __bpf_usdt_arg_type arg_type : 8;
#endif
	/* The offset of the register in struct pt_regs. */
	short reg_off;
	_Bool arg_signed;
	/* The bits of a word that the argument does not have. */
	char arg_bitshift;
};

struct __bpf_usdt_spec {
	struct __bpf_usdt_arg_spec args[BPF_USDT_MAX_ARG_CNT];
	__u64 usdt_cookie;
	short arg_cnt;
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

/* Returns the index of the specification of the probe that was hit, or -ESRCH if the loader does not know the probe. */
static __always_inline int __bpf_usdt_spec_id(struct pt_regs *ctx)
{
	if (!LINUX_HAS_BPF_COOKIE) {
		long address = PT_REGS_IP(ctx);
		int *id = bpf_map_lookup_elem(&__bpf_usdt_ip_to_spec_id, &address);

		return id ? *id : -ESRCH;
	}
	return bpf_get_attach_cookie(ctx);
}

/* Finds the specification of the probe that was hit, and leaves the function with `unknown` if there is none. */
#define BPF_USDT_FIND_(spec, id, ctx, unknown)                          \
	do {                                                            \
		id = __bpf_usdt_spec_id(ctx);                           \
		if (id < 0)                                             \
			return unknown;                                 \
		spec = bpf_map_lookup_elem(&__bpf_usdt_specs, &id);     \
		if (!spec)                                              \
			return unknown;                                 \
	} while (0)

/* Finds the specification of an argument, and leaves the function with -ENOENT if there is none. The verifier sees the first limit. */
#define BPF_USDT_FIND_ARG_(arg, spec, index)                            \
	do {                                                            \
		if (index >= BPF_USDT_MAX_ARG_CNT)                      \
			return -ENOENT;                                 \
		barrier_var(index);                                     \
		if (index >= (__u64)spec->arg_cnt)                      \
			return -ENOENT;                                 \
		arg = &spec->args[index];                               \
	} while (0)

/* Evaluates a read, and leaves the function with its error. */
#define BPF_USDT_TRY_(read)                                             \
	do {                                                            \
		int error_ = (read);                                    \
		if (error_)                                             \
			return error_;                                  \
	} while (0)

/* Reads a register by its offset in struct pt_regs. */
#define BPF_USDT_READ_REGISTER_(value, ctx, offset) \
	BPF_USDT_TRY_(bpf_probe_read_kernel(&(value), sizeof(value), (char *)(ctx) + (offset)))
/* Reads a word of user space. The argument is in its first bytes, which are the high ones on a big-endian machine. */
#define BPF_USDT_READ_MEMORY_(value, address) \
	BPF_USDT_TRY_(bpf_probe_read_user(&(value), sizeof(value), (void *)(address)))
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BPF_USDT_FIRST_BYTES_(value, arg) ((value) >> (arg)->arg_bitshift)
#else
#define BPF_USDT_FIRST_BYTES_(value, arg) (value)
#endif

/* Returns the number of arguments, or -ESRCH if the loader does not know the probe. */
__weak __hidden int bpf_usdt_arg_cnt(struct pt_regs *ctx)
{
	struct __bpf_usdt_spec *spec;
	int id;

	BPF_USDT_FIND_(spec, id, ctx, -ESRCH);
	return spec->arg_cnt;
}

/* Returns the size of an argument in bytes, -ESRCH as above, or -ENOENT if there is no such argument. */
static __always_inline int bpf_usdt_arg_size(struct pt_regs *ctx, __u64 index)
{
	struct __bpf_usdt_spec *spec;
	struct __bpf_usdt_arg_spec *arg;
	int id;

	BPF_USDT_FIND_(spec, id, ctx, -ESRCH);
	BPF_USDT_FIND_ARG_(arg, spec, index);
	return (unsigned int)(64 - arg->arg_bitshift) / 8;
}

/* Stores an argument. Returns 0, an error as above, or the error of a read. The argument is 0 after an error. */
__weak __hidden int bpf_usdt_arg(struct pt_regs *ctx, __u64 index, long *result)
{
	struct __bpf_usdt_spec *spec;
	struct __bpf_usdt_arg_spec *arg;
	unsigned long value, scaled;
	int id;

	*result = 0;
	BPF_USDT_FIND_(spec, id, ctx, -ESRCH);
	BPF_USDT_FIND_ARG_(arg, spec, index);
	switch (arg->arg_type) {
	case BPF_USDT_ARG_CONST:
		value = arg->val_off;
		break;
	case BPF_USDT_ARG_REG:
		BPF_USDT_READ_REGISTER_(value, ctx, arg->reg_off);
		break;
	case BPF_USDT_ARG_REG_DEREF:
		BPF_USDT_READ_REGISTER_(value, ctx, arg->reg_off);
		BPF_USDT_READ_MEMORY_(value, (char *)value + arg->val_off);
		value = BPF_USDT_FIRST_BYTES_(value, arg);
		break;
	case BPF_USDT_ARG_SIB:
		BPF_USDT_READ_REGISTER_(value, ctx, arg->reg_off);
		BPF_USDT_READ_REGISTER_(scaled, ctx, arg->idx_reg_off);
		BPF_USDT_READ_MEMORY_(value, value + (scaled << arg->scale_bitshift) + arg->val_off);
		value = BPF_USDT_FIRST_BYTES_(value, arg);
		break;
	default:
		return -EINVAL;
	}
	value <<= arg->arg_bitshift;
	if (arg->arg_signed)
		value = (long)value >> arg->arg_bitshift;
	else
		value >>= arg->arg_bitshift;
	*result = value;
	return 0;
}

/* Returns the number that user space gave to the attachment, 0 if there is none. */
__weak __hidden long bpf_usdt_cookie(struct pt_regs *ctx)
{
	struct __bpf_usdt_spec *spec;
	int id;

	BPF_USDT_FIND_(spec, id, ctx, 0);
	return spec->usdt_cookie;
}

/* The arguments of a probe, as many as the declaration has. */
#define BPF_USDT_ARG_(index) ({ long value_; bpf_usdt_arg(ctx, index, &value_); value_; })
#define ___bpf_usdt_args0() ctx
#define ___bpf_usdt_args1(...) ___bpf_usdt_args0(), BPF_USDT_ARG_(0)
#define ___bpf_usdt_args2(...) ___bpf_usdt_args1(), BPF_USDT_ARG_(1)
#define ___bpf_usdt_args3(...) ___bpf_usdt_args2(), BPF_USDT_ARG_(2)
#define ___bpf_usdt_args4(...) ___bpf_usdt_args3(), BPF_USDT_ARG_(3)
#define ___bpf_usdt_args5(...) ___bpf_usdt_args4(), BPF_USDT_ARG_(4)
#define ___bpf_usdt_args6(...) ___bpf_usdt_args5(), BPF_USDT_ARG_(5)
#define ___bpf_usdt_args7(...) ___bpf_usdt_args6(), BPF_USDT_ARG_(6)
#define ___bpf_usdt_args8(...) ___bpf_usdt_args7(), BPF_USDT_ARG_(7)
#define ___bpf_usdt_args9(...) ___bpf_usdt_args8(), BPF_USDT_ARG_(8)
#define ___bpf_usdt_args10(...) ___bpf_usdt_args9(), BPF_USDT_ARG_(9)
#define ___bpf_usdt_args11(...) ___bpf_usdt_args10(), BPF_USDT_ARG_(10)
#define ___bpf_usdt_args12(...) ___bpf_usdt_args11(), BPF_USDT_ARG_(11)
#define ___bpf_usdt_args(arguments...) ___bpf_apply(___bpf_usdt_args, BPF_COUNT_(arguments))(arguments)

/* A program for a probe of user space: SEC("usdt/PATH:PROVIDER:NAME"), or SEC("usdt"). */
#define BPF_USDT(name, arguments...) \
	BPF_BODY_(name, struct pt_regs, return ____##name(___bpf_usdt_args(arguments));, ##arguments)

#endif
