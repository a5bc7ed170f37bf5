//# target: same plain
// A bitfield read as C reads it: the load of its unit is relocated, and is poisoned where the target has no bitfield.
#include "core.h"

struct access {
	u32 pad;
	u32 low : 8;
	u32 high : 24;
	u32 plain;
} CORE;

PROG(load)(struct access *p)
{
	USE(p->plain);
	USE(p->low);
	return 0;
}
