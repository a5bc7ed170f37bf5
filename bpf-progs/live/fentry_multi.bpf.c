//# target: kernels
//# requires: clang>=14
// Entry and exit of many functions by one link each: those that a test run calls, and those of a module.
#include "live.h"

u64 exits;

SEC("fentry.multi/bpf_fentry_test?") int enter(u64 *ctx)
{
	COUNT_MINE();
}

SEC("?fentry.multi/veth:veth_*") int of_module(u64 *ctx)
{
	COUNT_MINE();
}

SEC("fexit.multi/bpf_fentry_test1") int leave(u64 *ctx)
{
	if (mine())
		exits++;
	return 0;
}
