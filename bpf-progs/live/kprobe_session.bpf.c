//# target: kernels
//# requires: clang>=14
// One program for a function's entry and return; what it says at the entry decides about the return.
#include "live.h"

extern _Bool bpf_session_is_return(void) __ksym;

u64 returns;
/* Not 0: no returns, please. */
u32 no_return;

SEC("kprobe.session/bpf_fentry_test1") int both(void *ctx)
{
	if (!mine())
		return 0;
	if (bpf_session_is_return()) {
		returns++;
		return 0;
	}
	hits++;
	return no_return ? 1 : 0;
}
