//# target: kernels
//# requires: clang>=14
// A raw tracepoint: every system call, by number.
#include "live.h"

s64 last_nr;

SEC("raw_tp/sys_enter") int enter(u64 *ctx)
{
	if (mine()) {
		hits++;
		last_nr = ctx[1];
	}
	return 0;
}
