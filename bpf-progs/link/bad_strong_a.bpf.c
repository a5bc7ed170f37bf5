//# target: self
// bad_strong_b defines the same function, and neither is weak.
#include "link.h"

NOINLINE int mine(int x)
{
	USE(x);
	return 1;
}

PROG(bad_strong_a)(void *ctx)
{
	return mine(1);
}
