//# target: moved
// Subprograms in .text, static and global, called from several programs: one section, relocated once.
#include "core.h"

struct item {
	u32 a;
	u32 b;
} CORE;

static NOINLINE int read_a(struct item *p)
{
	USE(p->a);
	return 1;
}

NOINLINE int read_b(struct item *p)
{
	if (!p)
		return 0;
	USE(p->b);
	return read_a(p);
}

__attribute__((weak)) NOINLINE int read_weak(struct item *p)
{
	if (!p)
		return 0;
	USE(p->b);
	return 2;
}

PROG(caller)(struct item *p)
{
	USE(p->b);
	return read_a(p) + read_weak(p);
}

PROG(other)(struct item *p)
{
	return read_b(p);
}
