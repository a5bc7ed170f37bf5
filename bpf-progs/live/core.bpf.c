//# target: kernels
//# requires: clang>=14
// Relocated reads of the running task: fields, one under two names, sizes, an enumerator, what does not exist.
#include "live.h"

struct task_struct {
	int pid, tgid;
	char comm[16];
	struct task_struct *real_parent;
	u32 __state;
} CORE;

/* until 5.13 */
struct task_struct___old {
	long state;
} CORE;

struct core_relo_no_such_type {
	int x;
} CORE;

enum bpf_map_type {
	BPF_MAP_TYPE_RINGBUF = 99,
};

u32 tgid, parent, state_size, comm_size, ringbuf, no_such_type, has_state;
char comm[16];

SEC("raw_tp/sys_enter") int enter(u64 *ctx)
{
	struct task_struct *task = (void *)get_current_task();
	struct task_struct___old *old = (void *)task;

	if (!mine())
		return 0;
	hits++;
	tgid = READ(task, tgid);
	parent = READ(READ(task, real_parent), tgid);
	comm_size = field_size(task->comm);
	probe_read_kernel_str(comm, sizeof(comm), &task->comm);
	if (field_exists(task->__state)) {
		has_state = 1;
		state_size = field_size(task->__state);
	} else if (field_exists(old->state)) {
		state_size = field_size(old->state);
	}
	ringbuf = enumval_value(enum bpf_map_type, BPF_MAP_TYPE_RINGBUF);
	no_such_type = type_exists(struct core_relo_no_such_type);
	return 0;
}
