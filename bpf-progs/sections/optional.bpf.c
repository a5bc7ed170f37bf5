//# target: moved
// A program that is not loaded unless asked for (`?`): its records are there and counted.
#include "core.h"

struct item {
	u32 a;
	u32 b;
} CORE;

SEC("?raw_tp/optional") int optional(struct item *p)
{
	USE(p->a);
	USE(p->b);
	return 1;
}

SEC("raw_tp/always") int always(struct item *p)
{
	USE(p->b);
	return 2;
}
