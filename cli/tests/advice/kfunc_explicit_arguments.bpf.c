// kernel: 6.12
#include "libbpf.h"

/* Linux 7.0 passes the second argument itself. */
extern void bpf_obj_drop(void *object) __ksym;
extern void *bpf_obj_new_impl(unsigned long type, void *meta) __ksym;
/* DECLARATIONS */

SEC("tc") int prog(void *ctx)
{
	void *object = bpf_obj_new_impl(1, 0);

	if (object)
		bpf_obj_drop(object);
	return 0;
}
