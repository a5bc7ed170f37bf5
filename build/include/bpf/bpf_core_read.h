/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CO-RE: reads of the kernel's structures, and questions about its types, that the loader adapts to the running kernel. The names are
 * those of libbpf's header of the same name.
 */
#ifndef __BPF_CORE_READ_H__
#define __BPF_CORE_READ_H__

#include "bpf_helpers.h"
#include "bpf_core_chain.h"
#include "bpf_core_bitfield.h"

/* The last arguments of clang's builtins, which become kinds of relocations. */
enum bpf_field_info_kind {
	BPF_FIELD_BYTE_OFFSET = 0,
	BPF_FIELD_BYTE_SIZE = 1,
	BPF_FIELD_EXISTS = 2,
	BPF_FIELD_SIGNED = 3,
	BPF_FIELD_LSHIFT_U64 = 4,
	BPF_FIELD_RSHIFT_U64 = 5,
};

enum bpf_type_id_kind {
	BPF_TYPE_ID_LOCAL = 0,
	BPF_TYPE_ID_TARGET = 1,
};

enum bpf_type_info_kind {
	BPF_TYPE_EXISTS = 0,
	BPF_TYPE_SIZE = 1,
	BPF_TYPE_MATCHES = 2,
};

enum bpf_enum_value_kind {
	BPF_ENUMVAL_EXISTS = 0,
	BPF_ENUMVAL_VALUE = 1,
};

/*
 * A pointer to the type, of which the builtins see only the type. GCC forgets the type of a null pointer too early: there, it is the
 * address of a variable that nothing defines. GCC's builtins take the addresses of fields, and enumerators as they are.
 */
#ifdef __clang__
#define ___bpf_typeof(type) ((__typeof__(type) *)0)
#define CORE_FIELD_(field) (field)
#define CORE_ENUMERATOR_(type, value) *(__typeof__(type) *)value
#else
#define ___bpf_typeof(type) ___bpf_typeof1(type, __COUNTER__)
#define ___bpf_typeof1(type, number) ({ extern __typeof__(type) *___concat(core_type_, number); ___concat(core_type_, number); })
#define CORE_FIELD_(field) (&(field))
#define CORE_ENUMERATOR_(type, value) ___bpf_typeof(type), value
#endif

/* A field, from `pointer->member` or from a type and a member. */
#define ___bpf_field_ref1(field) CORE_FIELD_(field)
#define ___bpf_field_ref2(type, member) CORE_FIELD_(___bpf_typeof(type)->member)
#define ___bpf_field_ref(field...) ___bpf_apply(___bpf_field_ref, BPF_COUNT_(field))(field)

/* Of a field, `pointer->member`, or of a type and a member: whether it exists, its size, its offset. */
#define bpf_core_field_exists(field...) __builtin_preserve_field_info(___bpf_field_ref(field), BPF_FIELD_EXISTS)
#define bpf_core_field_size(field...) __builtin_preserve_field_info(___bpf_field_ref(field), BPF_FIELD_BYTE_SIZE)
#define bpf_core_field_offset(field...) __builtin_preserve_field_info(___bpf_field_ref(field), BPF_FIELD_BYTE_OFFSET)

/* Of a type: whether it exists or matches, its size, its id in the program's BTF and in the kernel's. */
#define bpf_core_type_exists(type) __builtin_preserve_type_info(*___bpf_typeof(type), BPF_TYPE_EXISTS)
#define bpf_core_type_size(type) __builtin_preserve_type_info(*___bpf_typeof(type), BPF_TYPE_SIZE)
#define bpf_core_type_matches(type) __builtin_preserve_type_info(*___bpf_typeof(type), BPF_TYPE_MATCHES)
#define bpf_core_type_id_local(type) __builtin_btf_type_id(*___bpf_typeof(type), BPF_TYPE_ID_LOCAL)
#define bpf_core_type_id_kernel(type) __builtin_btf_type_id(*___bpf_typeof(type), BPF_TYPE_ID_TARGET)

/* Of an enumerator: whether it exists, its value. */
#define bpf_core_enum_value_exists(type, value) \
	__builtin_preserve_enum_value(CORE_ENUMERATOR_(type, value), BPF_ENUMVAL_EXISTS)
#define bpf_core_enum_value(type, value) __builtin_preserve_enum_value(CORE_ENUMERATOR_(type, value), BPF_ENUMVAL_VALUE)

/* Casts a pointer to a type of the kernel. */
#define bpf_core_cast(pointer, type) \
	((__typeof__(type) *)bpf_rdonly_cast((pointer), bpf_core_type_id_kernel(type)))
extern void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym __weak;

/* Reads of relocated addresses. */
#define bpf_core_read(to, size, from) \
	bpf_probe_read_kernel(to, size, (const void *)__builtin_preserve_access_index(from))
#define bpf_core_read_user(to, size, from) \
	bpf_probe_read_user(to, size, (const void *)__builtin_preserve_access_index(from))
#define bpf_core_read_str(to, size, from) \
	bpf_probe_read_kernel_str(to, size, (const void *)__builtin_preserve_access_index(from))
#define bpf_core_read_user_str(to, size, from) \
	bpf_probe_read_user_str(to, size, (const void *)__builtin_preserve_access_index(from))

/* Reads source->a->b… into *to. The result is 0 or a negative error number. */
#define BPF_CORE_READ_INTO(to, source, a, ...) \
	({ ___core_read(bpf_core_read, bpf_core_read, to, (source), a, ##__VA_ARGS__) })
#define BPF_CORE_READ_USER_INTO(to, source, a, ...) \
	({ ___core_read(bpf_core_read_user, bpf_core_read_user, to, (source), a, ##__VA_ARGS__) })
#define BPF_CORE_READ_STR_INTO(to, source, a, ...) \
	({ ___core_read(bpf_core_read_str, bpf_core_read, to, (source), a, ##__VA_ARGS__) })
#define BPF_CORE_READ_USER_STR_INTO(to, source, a, ...) \
	({ ___core_read(bpf_core_read_user_str, bpf_core_read_user, to, (source), a, ##__VA_ARGS__) })

/* Reads source->a->b… The result is the value, which is 0 if a pointer on the way cannot be read. */
#define BPF_CORE_READ(source, a, ...) CORE_VALUE_(BPF_CORE_READ_INTO, source, a, ##__VA_ARGS__)
#define BPF_CORE_READ_USER(source, a, ...) CORE_VALUE_(BPF_CORE_READ_USER_INTO, source, a, ##__VA_ARGS__)
#define CORE_VALUE_(read_into, source, a, ...)                     \
	({                                                         \
		___type((source), a, ##__VA_ARGS__) value_;        \
		read_into(&value_, (source), a, ##__VA_ARGS__);    \
		value_;                                            \
	})

/* The same without relocations, for structs of user space, and for kernel structs that do not change. */
#define BPF_PROBE_READ_INTO(to, source, a, ...) \
	({ ___core_read(bpf_probe_read_kernel, bpf_probe_read_kernel, to, (source), a, ##__VA_ARGS__) })
#define BPF_PROBE_READ_USER_INTO(to, source, a, ...) \
	({ ___core_read(bpf_probe_read_user, bpf_probe_read_user, to, (source), a, ##__VA_ARGS__) })
#define BPF_PROBE_READ_STR_INTO(to, source, a, ...) \
	({ ___core_read(bpf_probe_read_kernel_str, bpf_probe_read_kernel, to, (source), a, ##__VA_ARGS__) })
#define BPF_PROBE_READ_USER_STR_INTO(to, source, a, ...) \
	({ ___core_read(bpf_probe_read_user_str, bpf_probe_read_user, to, (source), a, ##__VA_ARGS__) })
#define BPF_PROBE_READ(source, a, ...) CORE_VALUE_(BPF_PROBE_READ_INTO, source, a, ##__VA_ARGS__)
#define BPF_PROBE_READ_USER(source, a, ...) CORE_VALUE_(BPF_PROBE_READ_USER_INTO, source, a, ##__VA_ARGS__)

#endif
