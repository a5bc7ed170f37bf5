// kernel: 6.1
#include "libbpf.h"
struct task_struct___own { struct task_struct *absent; } CORE;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0];

	result = (u64)bpf_ktime_get_ns();
	result += BPF_CORE_READ(task, absent,
				pid);
	return 0;
}
