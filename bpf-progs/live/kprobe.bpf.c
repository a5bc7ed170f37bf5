//# target: kernels
//# requires: clang>=14
// Probes at a function's entry and return.
#include "live.h"

u64 returns;

SEC("kprobe/do_sys_openat2") int entry(void *ctx)
{
	COUNT_MINE();
}

SEC("kretprobe/do_sys_openat2") int back(void *ctx)
{
	if (mine())
		returns++;
	return 0;
}
