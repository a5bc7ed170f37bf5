//# target: same moved fixed middle
// A flexible array at the end of a struct, and one at the end of a union: any index will do.
#include "core.h"

struct flex {
	u32 count;
	u32 tail[];
} CORE;

union flexu {
	u32 first;
	u32 tail[0];
} CORE;

PROG(load)(struct flex *p)
{
	USE(p->tail[0]);
	USE(p->tail[3]);
	USE(p->tail[100]);
	return 0;
}

PROG(overlay)(union flexu *p)
{
	USE(p->tail[2]);
	USE(p->first);
	return 0;
}
