//# target: kernels
//# requires: clang>=14
// One program for a function's entry and return; what it says at the entry decides about the return.
#include "live.h"

/* From 7.0 on it takes the context. */
extern _Bool bpf_session_is_return(void) __ksym __weak;
extern _Bool bpf_session_is_return___ctx(void *ctx) __ksym __weak;

u64 returns;
/* Not 0: no returns, please. */
u32 no_return;

SEC("kprobe.session/bpf_fentry_test1") int both(void *ctx)
{
	_Bool is_return;

	if (!mine())
		return 0;
	is_return = bpf_session_is_return___ctx ? bpf_session_is_return___ctx(ctx) : bpf_session_is_return();
	if (is_return) {
		returns++;
		return 0;
	}
	hits++;
	return no_return ? 1 : 0;
}
