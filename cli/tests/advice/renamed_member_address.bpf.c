// kernel: 5.10
#include "libbpf.h"
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 state = 0;

	bpf_probe_read_kernel(&state, sizeof(state), &task->pid);
	bpf_probe_read_kernel(&state, sizeof(state), &task->__state);
	result = state;
	return 0;
}
