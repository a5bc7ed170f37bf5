/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory that programs and user space share, by maps of type BPF_MAP_TYPE_ARENA (Linux 6.9). The names are those of the header
 * bpf_arena_common.h in the kernel's own tests. Include vmlinux.h before it, with BPF_NO_KFUNC_PROTOTYPES: the kfuncs have no address space
 * in a vmlinux.h of Linux 6.9 to 6.13, and later one that clang before 19 does not know.
 *
 *     struct { __uint(type, BPF_MAP_TYPE_ARENA); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 100); } arena SEC(".maps");
 *     int __arena *page = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0);
 */
#ifndef CORE_RELO_BPF_ARENA_COMMON_H
#define CORE_RELO_BPF_ARENA_COMMON_H

#include "bpf_helpers.h"

/*
 * Pointers and variables in the arena. Clang 19 and later convert pointers between the program's addresses and those of user space; for
 * older compilers, cast_kern converts a pointer before the program reads from it, and cast_user before the program stores it in the arena.
 */
#if defined(__BPF_FEATURE_ADDR_SPACE_CAST) && !defined(BPF_ARENA_FORCE_ASM)
#ifndef __arena
#define __arena __attribute__((address_space(1)))
#endif
#define __arena_global __attribute__((address_space(1)))
#define cast_kern(pointer)
#define cast_user(pointer)
#else
#ifndef __arena
#define __arena
#endif
#define __arena_global SEC(".addr_space.1")
#define cast_kern(pointer) bpf_addr_space_cast(pointer, 0, 1)
#define cast_user(pointer) bpf_addr_space_cast(pointer, 1, 0)
#endif

/* The instruction that converts a pointer: a move of 64 bits (0xbf) with the offset BPF_ADDR_SPACE_CAST, in register 0. */
#ifndef bpf_addr_space_cast
#define bpf_addr_space_cast(pointer, to, from)                                                                       \
	__asm__ volatile("r0 = %[value]\n\t"                                                                         \
			 ".byte 0xbf, 0\n\t"                                                                         \
			 ".short 1\n\t"                                                                              \
			 ".long %[spaces]\n\t"                                                                       \
			 "%[value] = r0"                                                                             \
			 : [value] "+r"(pointer)                                                                     \
			 : [spaces] "i"((to) << 16 | (from))                                                         \
			 : "r0")
#endif

/* The struct around a member. */
#ifndef arena_container_of
#define arena_container_of(pointer, type, member) ((type *)((char __arena *)(pointer) - offsetof(type, member)))
#endif

/* The size of a page, an enumerator of vmlinux.h. */
#ifndef PAGE_SIZE
#define PAGE_SIZE __PAGE_SIZE
#endif
#ifndef NUMA_NO_NODE
#define NUMA_NO_NODE (-1)
#endif

/* One access of a variable that others access at the same time. */
#ifndef READ_ONCE
#define READ_ONCE(x) (*(volatile __typeof__(x) *)&(x))
#endif
#ifndef WRITE_ONCE
#define WRITE_ONCE(x, value) ((*(volatile __typeof__(x) *)&(x)) = (value))
#endif

/* Allocates pages, at an address or anywhere (NULL), frees them, or keeps them from being allocated (Linux 6.17). */
extern void __arena *bpf_arena_alloc_pages(void *map, void __arena *address, __u32 page_count, int node, __u64 flags) __weak __ksym;
extern void bpf_arena_free_pages(void *map, void __arena *address, __u32 page_count) __weak __ksym;
extern int bpf_arena_reserve_pages(void *map, void __arena *address, __u32 page_count) __weak __ksym;

#endif
