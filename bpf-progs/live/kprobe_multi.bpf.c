//# target: kernels
//# requires: clang>=14
// Probes at many functions in one link: those a test run of a tracing program calls.
#include "live.h"

static u64 (*const get_func_ip)(void *ctx) = (void *)173;

u64 returns, last_ip;

SEC("kprobe.multi/bpf_fentry_test*") int entry(void *ctx)
{
	if (mine()) {
		hits++;
		last_ip = get_func_ip(ctx);
	}
	return 0;
}

SEC("kretprobe.multi/bpf_fentry_test*") int back(void *ctx)
{
	if (mine())
		returns++;
	return 0;
}
