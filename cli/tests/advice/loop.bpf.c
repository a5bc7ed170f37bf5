// kernel: 6.1
#include "libbpf.h"
struct task_struct___own { u32 absent[8]; } CORE;
/* DECLARATIONS */

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	struct task_struct___own *task = (void *)ctx[0];

	for (int i = 0; i < 8; i++) {
		result += task->absent[i];
	}
	return 0;
}
