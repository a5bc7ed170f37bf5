// kernel: 5.10
#include "libbpf.h"

extern void core_relo_no_such_kfunc(void) __ksym;
/* DECLARATIONS */

SEC("tc") int prog(void *ctx)
{
	core_relo_no_such_kfunc();
	return 0;
}
