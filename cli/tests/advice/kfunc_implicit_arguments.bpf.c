// kernel: 7
#include "libbpf.h"

/* Linux 7.0 passes the second argument itself. */
extern int bpf_stream_print_stack_impl(int stream, void *program) __ksym;
/* DECLARATIONS */

SEC("tc") int prog(void *ctx)
{
	return bpf_stream_print_stack_impl(1, 0);
}
