/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Declarations for core-relo: events for skeletons, and variants of programs for adaptive loading (below).
 *
 * EVENT_TYPE and EVENT_KIND describe the records of ring buffers and perf event arrays, whose types BTF does not contain otherwise.
 * They cost nothing at run time: no loader makes a map of their section.
 *
 *     struct event { __u32 pid; char comm[16]; };
 *     struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 1 << 16); } events SEC(".maps");
 *     EVENT_TYPE(events, struct event);
 *
 * If a map has records of several types, a member says which one:
 *
 *     enum kind { EXEC = 1, EXIT = 2 };
 *     struct exec_event { enum kind kind; ... };
 *     struct exit_event { enum kind kind; ... };
 *     EVENT_KIND(events, struct exec_event, kind, EXEC);
 *     EVENT_KIND(events, struct exit_event, kind, EXIT);
 */
#ifndef CORE_RELO_H
#define CORE_RELO_H

/* The records of the map are of this type. */
#define EVENT_TYPE(map_name, type)                                                                                     \
	static struct {                                                                                                \
		type event[0];                                                                                         \
		struct { char *map_name; } *map;                                                                       \
	} CORE_RELO_JOIN(core_relo_event_, __COUNTER__) __attribute__((used, section(".core_relo.events")))

/* The records of the map whose member `member_name` is `number` are of this type. The number is a constant above 0. */
#define EVENT_KIND(map_name, type, member_name, number)                                                                \
	static struct {                                                                                                \
		type event[0];                                                                                         \
		struct { char *map_name; } *map;                                                                       \
		struct { __typeof__(((type *)0)->member_name) *member_name; } *kind;                                   \
		int (*value)[number];                                                                                  \
	} CORE_RELO_JOIN(core_relo_event_, __COUNTER__) __attribute__((used, section(".core_relo.events")))

/*
 * Variants: one object for many kernels. A loader with variants (core-relo's `load_adaptive`, `core-relo load --adaptive`) loads, of
 * each group, the programs of the first alternative that works on the kernel. These macros are declaration tags: they cost nothing,
 * and other loaders ignore them. Use SEC("?...") for all alternatives but one, so that other loaders load only that one.
 *
 *     SEC("fentry/do_unlinkat")   VARIANT(unlink, 1) int BPF_PROG(unlink_fentry, ...) { ... }
 *     SEC("?kprobe/do_unlinkat")  VARIANT(unlink, 2) int unlink_kprobe(struct pt_regs *ctx) { ... }
 *
 * Programs of one group and rank are one alternative, and are loaded together. The lowest rank is tried first.
 */
#if defined(__has_attribute) && __has_attribute(btf_decl_tag)
#define CORE_RELO_TAG(text) __attribute__((btf_decl_tag("core_relo:" text)))

/* The program is an alternative of a group. */
#define VARIANT(group, rank) CORE_RELO_TAG("variant:" #group ":" #rank)

/*
 * On a program or map: the load goes on without it if it does not work. On a program of a group: the load goes on without the group.
 * On a constant with OFFSET_OF, SIZE_OF or ENUM_VALUE: it keeps its initial value if the kernel's types do not have the name, or the
 * field is a bitfield.
 */
#define OPTIONAL CORE_RELO_TAG("optional")

/*
 * On a constant (`const volatile bool`, or an integer; weak or not): 1 if the load has the group, program or map of this name, else 0.
 * `LOADED("map:events")` names the kind too. The verifier knows the value, and skips code that needs what is not loaded.
 */
#define LOADED(name) CORE_RELO_TAG("loaded:" name)

/*
 * On an integer constant: a value from the kernel's types. OFFSET_OF("task_struct.tgid") and SIZE_OF("task_struct") are in bytes,
 * ENUM_VALUE("BPF_FUNC_loop") is the number of an enumerator, also of a given enum ("enum bpf_func_id.BPF_FUNC_loop"), and
 * HAS_FIELD("task_struct.__state") is 1 or 0. Other loaders leave the initial value.
 */
#define OFFSET_OF(path) CORE_RELO_TAG("offset_of:" path)
#define SIZE_OF(name) CORE_RELO_TAG("size_of:" name)
#define ENUM_VALUE(name) CORE_RELO_TAG("enum_value:" name)
#define HAS_FIELD(path) CORE_RELO_TAG("has_field:" path)
#endif /* other compilers (GCC before 16): give the loader a table, see docs/adaptive.md */

#define CORE_RELO_JOIN(a, b) CORE_RELO_JOIN_(a, b)
#define CORE_RELO_JOIN_(a, b) a##b

#endif
