// kernel: 5.10
#include "libbpf.h"
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	result = bpf_core_field_size(task->__state);
	return 0;
}
