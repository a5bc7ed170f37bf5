//# target: self
// As static_a, of other sizes: what lies in a section after that of static_a has to move.
#include "link.h"

static volatile char flag = 1;
static volatile u64 hits;
static volatile int start = 22;
static const volatile char word[5] = "abcd";
static const volatile u64 wide __attribute__((aligned(32))) = 2;

static NOINLINE int helper(int x)
{
	hits += x;
	return hits + start + flag;
}

static NOINLINE int second(int x)
{
	return helper(x) * helper(3) + word[2] + wide;
}

SEC("raw_tp/static_b") int static_b(void *ctx)
{
	return second(4) + helper(2);
}

/* In the section of the other file. */
SEC("raw_tp/static_a") int again(void *ctx)
{
	return second(5);
}
