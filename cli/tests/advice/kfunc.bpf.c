// kernel: 6.1
#include "libbpf.h"

extern int core_relo_no_such_kfunc(int pid, const struct task_struct *task) __ksym;
/* DECLARATIONS */

SEC("tc") int prog(void *ctx)
{
	int answer = core_relo_no_such_kfunc(1, 0);

	return answer;
}
