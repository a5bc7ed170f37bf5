// kernel: implicit argument
#include "libbpf.h"

extern int bpf_task_acquire(int id) __ksym;

SEC("tp_btf/sched_process_exec") int prog(u64 *ctx)
{
	return bpf_task_acquire(1);
}
