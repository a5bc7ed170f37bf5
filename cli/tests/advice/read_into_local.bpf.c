// kernel: 5.10
#include "libbpf.h"
/* DECLARATIONS */

SEC("kprobe/x") int prog(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 state;

	bpf_probe_read_kernel(&state, sizeof(state), &task->__state);
	result = state;
	return 0;
}
