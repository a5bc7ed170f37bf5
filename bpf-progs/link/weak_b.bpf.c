//# target: self
// Strong definitions of what weak_a has weak; one more weak one that comes too late.
#include "link.h"

long before = 1;
int limit = 70;
int concealed = 20;

NOINLINE int choose(int key, int other)
{
	USE(other);
	return key * limit;
}

WEAK NOINLINE int both_weak(int key)
{
	USE(key);
	return 2;
}

SEC("raw_tp/weak_b") int weak_b(void *ctx)
{
	return choose(3, concealed) + both_weak(before);
}
