/* The few kernel helpers, map definitions and contexts the programs in kernel/ use. Helper numbers are kernel ABI. */
#ifndef HELPERS_H
#define HELPERS_H

#include "core.h"

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const get_current_pid_tgid)(void) = (void *)14;
static u64 (*const get_current_task)(void) = (void *)35;
static long (*const probe_read_kernel)(void *dst, u32 size, const void *from) = (void *)113;
static long (*const probe_read_kernel_str)(void *dst, u32 size, const void *from) = (void *)115;
static void *(*const ringbuf_reserve)(void *ringbuf, u64 size, u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *data, u64 flags) = (void *)132;

/* Members of a BTF map definition. */
#define MAP_UINT(name, value) int (*name)[value]
#define MAP_TYPE(name, type) __typeof__(type) *name

/* Reads one field behind a kernel pointer the verifier knows nothing of; evaluates to the field. */
#define READ(src, field)                                                                            \
	({                                                                                          \
		__typeof__((src)->field) read_;                                                     \
		probe_read_kernel((void *)&read_, sizeof(read_), (const void *)&(src)->field);      \
		read_;                                                                              \
	})

/* Reads a bitfield of at most 8 bytes through relocated offset, size and shifts. */
#define READ_BITS(src, field)                                                                         \
	({                                                                                            \
		u64 bits_ = 0;                                                                        \
		probe_read_kernel(LOW_END(bits_, field_size((src)->field)), field_size((src)->field), \
				  (const char *)(src) + field_offset((src)->field));                  \
		bits_ <<= field_lshift((src)->field);                                                 \
		field_signed((src)->field) ? (u64)((s64)bits_ >> field_rshift((src)->field))         \
					   : bits_ >> field_rshift((src)->field);                     \
	})
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_END(variable, size) (&(variable))
#else
#define LOW_END(variable, size) ((char *)&(variable) + 8 - (size))
#endif

#endif
