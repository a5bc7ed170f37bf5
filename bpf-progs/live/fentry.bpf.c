//# target: kernels
//# requires: clang>=14
// Entry and exit of functions: one that opens files, one that a test run calls.
#include "live.h"

u64 exits, test1;
s32 last_result;

SEC("fentry/do_sys_openat2") int open_entry(u64 *ctx)
{
	COUNT_MINE();
}

SEC("fexit/do_sys_openat2") int open_exit(u64 *ctx)
{
	/* After the three arguments comes the result. */
	if (mine()) {
		exits++;
		last_result = ctx[3];
	}
	return 0;
}

/* int bpf_fentry_test1(int a), called by BPF_PROG_TEST_RUN */
SEC("fentry/bpf_fentry_test1") int test1_entry(u64 *ctx)
{
	test1 += (s32)ctx[0];
	return 0;
}
