//# target: shadow
// The first member of the name decides, also if a later one would fit.
#include "core.h"

struct first {
	u32 pad;
	u32 field;
	struct {
		u32 inner;
	} sub;
} CORE;

PROG(load)(struct first *p)
{
	USE(p->field);
	USE(p->sub.inner);
	USE(p->pad);
	return 0;
}
