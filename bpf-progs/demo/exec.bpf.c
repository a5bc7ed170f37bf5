//# requires: clang>=14
//# target: kernels
// What `core-relo demo` shows: processes that begin and end, read as of Linux 6.x, in ways that older and newer kernels mind.
#include "core.h"

struct robust_list_head;

struct task_struct {
	u32 __state; /* until 5.13: long state */
	int pid;
	int tgid;
	int exit_code;
	char comm[16];
	struct task_struct *real_parent;
	u64 start_boottime;
	struct robust_list_head *robust_list; /* from 7.1: in struct futex_sched_data */
	unsigned in_execve : 1;
	unsigned sched_reset_on_fork : 1;
} CORE;

struct linux_binprm {
	const char *filename;
	int argc;
} CORE;

struct sched_ext_entity {
	u64 slice;
} CORE;

struct event {
	int pid;
	int parent;
	u32 state;
	u32 flags;
	u64 started;
	u64 robust;
	char filename[64];
};

struct {
	int (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	int (*max_entries)[65536];
} events SEC(".maps");

static void *(*const ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *data, u64 flags) = (void *)132;
static long (*const probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;

static NOINLINE u32 flags_of(struct task_struct *task)
{
	u32 flags = 0;

	if (field_exists(task->in_execve))
		flags |= 1;
	if (type_exists(struct sched_ext_entity))
		flags |= 2;
	return flags | (u32)field_size(task->comm) << 8;
}

SEC("tp_btf/sched_process_exec") int handle_exec(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct linux_binprm *binprm = (void *)ctx[2];
	struct event *event = ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event)
		return 0;
	event->pid = task->tgid;
	event->parent = task->real_parent->tgid;
	event->state = task->__state;
	event->flags = flags_of(task);
	event->started = task->start_boottime;
	event->robust = 0;
	probe_read_kernel_str(event->filename, sizeof(event->filename), binprm->filename);
	ringbuf_submit(event, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit") int handle_exit(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct event *event;

	if (task->pid != task->tgid)
		return 0;
	event = ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event)
		return 0;
	event->pid = task->tgid;
	event->parent = task->real_parent->tgid;
	event->state = task->exit_code;
	event->flags = 0;
	event->started = task->start_boottime;
	event->robust = (u64)task->robust_list;
	event->filename[0] = 0;
	ringbuf_submit(event, 0);
	return 0;
}
