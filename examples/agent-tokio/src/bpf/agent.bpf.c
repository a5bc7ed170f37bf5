// Processes that start and exit.
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <core_relo.h>

// The members of the kernel's structure that are read here. The loader adapts their offsets to the running kernel.
struct task_struct {
	int tgid;
	int exit_code;
	struct task_struct *real_parent;
} __attribute__((preserve_access_index));

struct event {
	__u32 pid;
	__u32 parent;
	__u32 has_exited; // 0: it starts
	__u32 exit_code;  // as wait(2) has it
	char name[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");
EVENT_TYPE(events, struct event);

// Set before the load.
const volatile __u32 only_uid = ~0;
// Events for which the ring buffer had no room.
__u64 dropped;

static __always_inline int send(int has_exited)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct event *event;

	if (only_uid != ~0 && only_uid != (__u32)bpf_get_current_uid_gid())
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&dropped, 1);
		return 0;
	}
	event->pid = bpf_get_current_pid_tgid() >> 32;
	event->parent = BPF_CORE_READ(task, real_parent, tgid);
	event->has_exited = has_exited;
	event->exit_code = BPF_CORE_READ(task, exit_code);
	bpf_get_current_comm(event->name, sizeof(event->name));
	bpf_ringbuf_submit(event, 0);
	return 0;
}

SEC("raw_tp/sched_process_exec") int on_exec(void *ctx)
{
	return send(0);
}

SEC("raw_tp/sched_process_exit") int on_exit(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();

	// Only the main thread.
	return (__u32)id == id >> 32 ? send(1) : 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
