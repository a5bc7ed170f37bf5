/* What the test programs need from a BPF header, and no more: sections, fixed widths, and one macro for
 * each CO-RE relocation kind. Written against clang's and GCC's builtins; needs no other header. */
#ifndef CORE_H
#define CORE_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
/* One program, alone in a section of its own name: records of `raw_tp/NAME` count from 0. */
#define PROG(name) SEC("raw_tp/" #name) int name
#define NOINLINE __attribute__((noinline))
/* Every access through a type so marked is recorded for relocation. */
#define CORE __attribute__((preserve_access_index))

/* Uses a value where the compiler can neither drop it, fold it nor move it past another USE. */
#define USE(value)                                   \
	do {                                         \
		u64 used_ = (u64)(value);            \
		asm volatile("" : "+r"(used_));      \
	} while (0)
/* Hides from the compiler where a pointer points. */
#define HIDE(pointer) asm volatile("" : "+r"(pointer))

/* Field relocations; the argument is an lvalue: p->a.b[2]. */
#define field_offset(lvalue) __builtin_preserve_field_info(lvalue, 0)
#define field_size(lvalue) __builtin_preserve_field_info(lvalue, 1)
#define field_exists(lvalue) __builtin_preserve_field_info(lvalue, 2)
#define field_signed(lvalue) __builtin_preserve_field_info(lvalue, 3)
#define field_lshift(lvalue) __builtin_preserve_field_info(lvalue, 4)
#define field_rshift(lvalue) __builtin_preserve_field_info(lvalue, 5)

/* Type relocations; the argument is a type. */
#define type_id_local(type) __builtin_btf_type_id(*(__typeof__(type) *)0, 0)
#define type_id_target(type) __builtin_btf_type_id(*(__typeof__(type) *)0, 1)
#define type_exists(type) __builtin_preserve_type_info(*(__typeof__(type) *)0, 0)
#define type_size(type) __builtin_preserve_type_info(*(__typeof__(type) *)0, 1)
#define type_matches(type) __builtin_preserve_type_info(*(__typeof__(type) *)0, 2)

/* Enumerator relocations; the arguments are an enum type and one of its enumerators. */
#define enumval_exists(type, value) __builtin_preserve_enum_value(*(__typeof__(type) *)value, 0)
#define enumval_value(type, value) __builtin_preserve_enum_value(*(__typeof__(type) *)value, 1)

char _license[] SEC("license") = "Dual MIT/GPL";

#endif
