//# target: self
// Static functions and variables of the names that static_b has, too; calls by the section's symbol.
#include "link.h"

static volatile int hits;
static volatile int start = 11;
static const volatile char word[3] = "ab";
static const volatile u64 wide = 1;

static NOINLINE int helper(int x)
{
	hits += x;
	return hits + start;
}

static NOINLINE int second(int x)
{
	return helper(x) + word[1] + wide;
}

SEC("raw_tp/static_a") int static_a(void *ctx)
{
	return helper(1) + second(2);
}
