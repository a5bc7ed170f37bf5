//# target: kernels
//# requires: clang>=14
// Leaves a function by an exception if `code` is set.
#include "live.h"

extern void bpf_throw(u64 cookie) __ksym;

u32 code;

static NOINLINE int inner(u32 value)
{
	if (value)
		bpf_throw(value);
	return 1;
}

SEC("tc") int outer(void *ctx)
{
	hits++;
	return inner(code);
}
