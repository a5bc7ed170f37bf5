// kernel: 5.10
#include "libbpf.h"
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u64 state = BPF_CORE_READ(task, real_parent, __state);

	result = state;
	return 0;
}
