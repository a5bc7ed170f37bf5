//# target: kernels
//# requires: clang>=14
// Functions that are called and lie in sections other than .text: static ones in `util`, which call each other without a
// relocation; a global one in `checked`; a callback in `callbacks`; a program called by another. libbpf refuses all of that.
#include "live.h"

#define IN(name) __attribute__((section(name)))

static long (*const for_each_map_elem)(void *map, void *callback, void *ctx, u64 flags) = (void *)164;

struct task_struct {
	char comm[16];
} CORE;

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 4);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} numbers SEC(".maps");

u64 sum;

IN("util") static NOINLINE u64 twice(u64 value)
{
	HIDE(value);
	return value * 2;
}

IN("util") static NOINLINE u64 four_times(u64 value)
{
	HIDE(value);
	return twice(twice(value));
}

IN("util") static NOINLINE u64 comm_size(struct task_struct *task)
{
	HIDE(task);
	return field_size(task->comm);
}

/* The verifier checks it alone. */
IN("checked") NOINLINE int plus_one(u32 value)
{
	HIDE(value);
	return four_times(value) + 1;
}

IN("callbacks") static long each(void *map, u32 *key, u64 *value, void *ctx)
{
	sum += twice(*value);
	return 0;
}

/* Not loaded itself, and yet a part of `outer`. HIDE keeps the compiler from calling it without its argument. */
SEC("?tc") NOINLINE int inner(struct __sk_buff *skb)
{
	HIDE(skb);
	hits++;
	return plus_one(10) + (int)comm_size((void *)0);
}

SEC("tc") NOINLINE int middle(struct __sk_buff *skb)
{
	HIDE(skb);
	hits++;
	return inner(skb) + 100;
}

SEC("tc") int outer(struct __sk_buff *skb)
{
	hits++;
	return middle(skb) + 1000;
}

SEC("tc") int add(struct __sk_buff *skb)
{
	hits++;
	for_each_map_elem(&numbers, each, (void *)0, 0);
	return 0;
}
