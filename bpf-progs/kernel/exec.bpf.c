//# target: kernels
// Execs with the task's state: the field was renamed in 5.14 (`state`, a long, to `__state`, an unsigned int).
// One program asks first, the other does not and is refused where the field is missing.
#include "helpers.h"

struct nsproxy;
struct pid;

struct task_struct {
	u32 __state;
	int pid;
	int tgid;
	int exit_code;
	char comm[16];
	struct task_struct *real_parent;
	struct mm_struct *mm;
	u64 start_boottime;
	unsigned in_execve : 1;
	unsigned sched_reset_on_fork : 1;
} CORE;

struct task_struct___old {
	long state;
	u64 real_start_time;
} CORE;

struct linux_binprm {
	const char *filename;
	int argc;
} CORE;

struct event {
	int pid;
	int ppid;
	u64 state;
	u64 started;
	u32 in_execve;
	char comm[16];
	char filename[64];
};

struct {
	MAP_UINT(type, 27);
	MAP_UINT(max_entries, 65536);
} events SEC(".maps");

struct {
	MAP_UINT(type, 1);
	MAP_UINT(max_entries, 1024);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} counts SEC(".maps");

const volatile u32 only_tgid = 0;
u64 seen;

static NOINLINE u64 task_state(struct task_struct *task)
{
	struct task_struct___old *old = (void *)task;

	if (field_exists(task->__state))
		return READ(task, __state);
	if (field_exists(old->state))
		return READ(old, state);
	return 0;
}

SEC("tp_btf/sched_process_exec") int guarded(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct linux_binprm *binprm = (void *)ctx[2];
	struct task_struct___old *old = (void *)task;
	struct event *event;

	if (only_tgid && only_tgid != task->tgid)
		return 0;
	event = ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event)
		return 0;
	event->pid = task->pid;
	event->ppid = task->real_parent->tgid;
	event->state = task_state(task);
	if (field_exists(task->start_boottime))
		event->started = task->start_boottime;
	else if (field_exists(old->real_start_time))
		event->started = old->real_start_time;
	if (field_exists(task->in_execve))
		event->in_execve = READ_BITS(task, in_execve);
	probe_read_kernel_str(event->comm, sizeof(event->comm), &task->comm);
	probe_read_kernel_str(event->filename, sizeof(event->filename), READ(binprm, filename));
	ringbuf_submit(event, 0);
	seen++;
	return 0;
}

SEC("tp_btf/sched_process_exec") int unguarded(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 pid = task->pid;
	u64 state = task->__state;

	map_update_elem(&counts, &pid, &state, 0);
	return 0;
}
