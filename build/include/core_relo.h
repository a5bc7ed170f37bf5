/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Declarations for skeletons of core-relo. They describe the records of ring buffers and perf event arrays, whose types BTF does not
 * contain otherwise. They cost nothing at run time: no loader makes a map of their section.
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

#define CORE_RELO_JOIN(a, b) CORE_RELO_JOIN_(a, b)
#define CORE_RELO_JOIN_(a, b) a##b

#endif
