//# target: self
// bad_strong_a defines the same function, and neither is weak.
#include "link.h"

NOINLINE int mine(int x)
{
	USE(x);
	return 2;
}

PROG(bad_strong_b)(void *ctx)
{
	return mine(1);
}
