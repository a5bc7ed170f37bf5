//# target: moved
//# expect moved .text#0 field_byte_offset patch 4->12
//# expect moved .text#1 field_byte_offset patch 0->8
//# expect moved .text#2 field_byte_offset patch 4->12
//# expect moved raw_tp/caller#0 field_byte_offset patch 4->12
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
