// kernel: 5.10
#include "libbpf.h"
/* DECLARATIONS */

SEC("kprobe/do_exit") int prog(void *ctx)
{
	if (bpf_get_func_ip(ctx) == 1)
		return 1;
	return 0;
}
