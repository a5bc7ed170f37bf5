//# target: self
// Weak definitions here, strong ones in weak_b: of a function, of variables, and one that only this file has.
#include "link.h"

WEAK int limit = 7;
WEAK int spare = 1;
WEAK HIDDEN int concealed = 2;
int pad_a = 3;

WEAK NOINLINE int choose(int key, int other)
{
	USE(key);
	return limit + other;
}

WEAK NOINLINE int only_here(int key)
{
	USE(key);
	return spare;
}

WEAK NOINLINE int both_weak(int key)
{
	USE(key);
	return 1;
}

SEC("raw_tp/weak_a") int weak_a(void *ctx)
{
	return choose(1, pad_a) + only_here(2) + both_weak(concealed);
}
