//# target: kernels
//# requires: clang>=14
// A function whose result is replaced: bpf_modify_return_test(int a, int *b), called by a test run.
#include "live.h"

s32 result;

SEC("fmod_ret/bpf_modify_return_test") int modify(u64 *ctx)
{
	hits++;
	return result;
}
