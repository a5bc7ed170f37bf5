// kernel: 5.10
#include "libbpf.h"

extern const int core_relo_no_such_variable __ksym;
/* DECLARATIONS */

SEC("raw_tp/sys_enter") int prog(void *ctx)
{
	result = core_relo_no_such_variable;
	return 0;
}
