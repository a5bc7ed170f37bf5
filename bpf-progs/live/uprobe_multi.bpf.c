//# target: kernels
//# requires: clang>=14
// Probes in many functions of a program in one link.
#include "live.h"

u64 returns;

SEC("uprobe.multi") int entry(void *ctx)
{
	COUNT_MINE();
}

SEC("uretprobe.multi") int back(void *ctx)
{
	if (mine())
		returns++;
	return 0;
}
