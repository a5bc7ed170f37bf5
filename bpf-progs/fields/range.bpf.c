//# target: near far
// Offsets at the end of what an instruction's 16-bit offset can say: one more is an error, not a poison.
#include "core.h"

struct range {
	u8 first;
	u8 last;
} CORE;

PROG(load)(struct range *p)
{
	USE(p->first);
	USE(p->last);
	return 0;
}

PROG(address)(struct range *p)
{
	USE(&p->last);
	return 0;
}
