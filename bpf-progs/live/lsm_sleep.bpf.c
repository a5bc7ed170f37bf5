//# target: kernels
//# requires: clang>=14
// A security hook in a program that may sleep.
#include "live.h"

SEC("lsm.s/file_open") int file_open(u64 *ctx)
{
	if (mine())
		hits++;
	return 0;
}
