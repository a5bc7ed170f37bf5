// kernel: 6.1
#include "libbpf.h"
struct task_struct___own { int absent; int lost; } CORE;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0];
	int read = 0;

	bpf_probe_read_kernel(&read, (task->lost & 3) + 1, __builtin_preserve_access_index(&task->absent));
	return read;
}
