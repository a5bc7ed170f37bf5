//# target: moved
// No CO-RE record at all, and a target nobody looks at.
#include "core.h"

struct item {
	u32 a;
	u32 b;
};

PROG(plain)(struct item *p)
{
	USE(p->b);
	return 0;
}
