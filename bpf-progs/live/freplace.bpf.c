//# target: kernels
//# requires: clang>=14
// A function to put in the place of `replaced` of freplace_target.
#include "live.h"

SEC("freplace/replaced") int instead(struct __sk_buff *skb)
{
	hits++;
	return 42;
}
