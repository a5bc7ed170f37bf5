//# target: kernels
//# requires: clang>=14
// Probes at a system call, whatever its function is called on this machine.
#include "live.h"

u64 returns;

SEC("ksyscall/getppid") int entry(void *ctx)
{
	COUNT_MINE();
}

SEC("kretsyscall/getppid") int back(void *ctx)
{
	if (mine())
		returns++;
	return 0;
}
