//# target: kernels
//# requires: clang>=14
// Entry and exit of many functions by one link each: those that a test run calls.
#include "live.h"

u64 exits;

SEC("fentry.multi/bpf_fentry_test?") int enter(u64 *ctx)
{
	COUNT_MINE();
}

SEC("fexit.multi/bpf_fentry_test1") int leave(u64 *ctx)
{
	if (mine())
		exits++;
	return 0;
}
