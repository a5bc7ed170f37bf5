// kernel: 5.10
#include "libbpf.h"
/* DECLARATIONS */

SEC("kprobe/do_exit") int prog(void *ctx)
{
	result = bpf_get_func_ip(ctx);
	return 0;
}
