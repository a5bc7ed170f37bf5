//# target: same
// An index behind the end of a local array of fixed length is an error, whatever the target has.
#include "core.h"

struct beyond {
	u32 v[4];
	u32 after;
} CORE;

PROG(load)(struct beyond *p)
{
	USE(p->after);
	USE(p->v[3]);
	USE(p->v[4]);
	return 0;
}
