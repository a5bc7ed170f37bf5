// A use of each function of usdt.bpf.h.
#include <bpf/bpf_helpers.h>

#include "registers.h"
#include <bpf/usdt.bpf.h>

__u64 sum;

SEC("usdt/libc.so.6:libc:setjmp")
int BPF_USDT(on_probe, int first, const char *second, long third)
{
	sum += first + (long)second + third;
	return 0;
}

SEC("usdt")
int any_probe(struct pt_regs *ctx)
{
	long value;

	if (bpf_usdt_arg(ctx, bpf_usdt_arg_cnt(ctx) - 1, &value) == 0)
		sum += value * bpf_usdt_arg_size(ctx, 0);
	sum += bpf_usdt_cookie(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
