//# target: self
// The last one; a program in the section of calls_a.
#include "link.h"

NOINLINE int deepest(int level)
{
	USE(level);
	return level;
}

SEC("raw_tp/calls") int calls_c(void *ctx)
{
	return deepest(1);
}
