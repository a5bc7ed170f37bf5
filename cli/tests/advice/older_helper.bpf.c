// kernel: 5.10
#include "libbpf.h"
/* DECLARATIONS */

SEC("raw_tp/sys_enter") int prog(void *ctx)
{
	u64 now = bpf_ktime_get_coarse_ns();

	result = now;
	return 0;
}
