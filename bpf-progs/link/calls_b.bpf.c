//# target: self
// In the middle: called by calls_a, calls calls_c.
#include "link.h"

struct item {
	u32 a;
	u32 b;
} CORE;

int deepest(int level);

static long (*const loop)(u32 times, void *callback, void *ctx, u64 flags) = (void *)181;

static int each(u32 index, void *ctx)
{
	*(int *)ctx -= index;
	return 0;
}

NOINLINE int sum(struct item *item, int factor)
{
	int total = 0;

	loop(2, each, &total, 0);
	return item->a * factor + total;
}

NOINLINE int deep(int level)
{
	return deepest(level) + 1;
}
