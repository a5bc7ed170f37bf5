//# target: self
// Subprograms called from file to file, a callback by its address, relocations of fields on both sides.
#include "link.h"

struct item {
	u32 a;
	u32 b;
} CORE;

static long (*const loop)(u32 times, void *callback, void *ctx, u64 flags) = (void *)181;

int sum(struct item *item, int factor);
int deep(int level);

static int each(u32 index, void *ctx)
{
	*(int *)ctx += index;
	return 0;
}

NOINLINE int twice(int x)
{
	return deep(x) + deep(x + 1);
}

SEC("raw_tp/calls") int calls_a(struct item *item)
{
	int total = 0;

	loop(3, each, &total, 0);
	return sum(item, 2) + twice(total) + item->b;
}
