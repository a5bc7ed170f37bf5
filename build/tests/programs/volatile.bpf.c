// The registers of a volatile context are read as often as the source says.
#include <bpf/bpf_helpers.h>

#include "registers.h"
#include <bpf/bpf_tracing.h>

SEC("kprobe/do_unlinkat") int reads(volatile struct pt_regs *ctx)
{
	long a = PT_REGS_PARM1(ctx), b = PT_REGS_PARM1(ctx);

	return a == b;
}

char _license[] SEC("license") = "GPL";
