// Processes that begin and end. Built by `cargo xtask progs --prebuilt` into prebuilt/; needs no header but core_relo.h.
//
// `process_exec` and `process_exit` read the kernel's own structures, wherever their members are in the kernel at hand: that is what
// CO-RE's records are for. `tp_exec` and `tp_exit` make do with what tracepoints give, for kernels without BTF. One pair is loaded.

#include "../../build/include/core_relo.h"

typedef unsigned char u8;
typedef int s32;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
// Each access to a member of such a struct is recorded, to be adjusted to the kernel's.
#define CORE __attribute__((preserve_access_index))

char _license[] SEC("license") = "Dual MIT/GPL";

// Helpers of the kernel, by their numbers, which never change.
static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const ktime_get_ns)(void) = (void *)5;
static u64 (*const get_current_pid_tgid)(void) = (void *)14;
static u64 (*const get_current_uid_gid)(void) = (void *)15;
static long (*const get_current_comm)(void *to, u32 size) = (void *)16;
static long (*const probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static void *(*const ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *data, u64 flags) = (void *)132;

// As much of the kernel's types as is read here.
struct task_struct {
	int pid;
	int tgid;
	int exit_code;
	struct task_struct *real_parent;
} CORE;

struct linux_binprm {
	const char *filename;
} CORE;

// What the tracepoint sched:sched_process_exec gives; tracefs has it in its file `format`.
struct exec_context {
	u64 common;
	u32 filename_place; /* the lower half is an offset from here */
	s32 pid, old_pid;
};

// A record for user space, which reads it by these offsets.
struct event {
	u64 duration_ns; /* 0: it began before this program did */
	u32 pid, parent, uid;
	u32 ended;
	u32 exit_code; /* as wait(2) gives it */
	u32 pad;
	char comm[16];
	char filename[128];
};

struct {
	int (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	int (*max_entries)[256 * 1024];
} events SEC(".maps");
EVENT_TYPE(events, struct event);

// When each process began.
struct {
	int (*type)[9]; /* BPF_MAP_TYPE_LRU_HASH */
	int (*max_entries)[8192];
	u32 *key;
	u64 *value;
} began SEC(".maps");

// Set before the load, and constant from then on: the verifier leaves out what they rule out.
const volatile u32 only_uid = ~0U;
const volatile u64 min_duration_ns = 0;
const volatile char only_comm[16] = "";

// Events that had no room.
u64 dropped;

static __attribute__((always_inline)) int is_wanted(const struct event *event)
{
	if (only_uid != ~0U && event->uid != only_uid)
		return 0;
	if (!only_comm[0])
		return 1;
	for (int i = 0; i < 16; i++) {
		if (event->comm[i] != only_comm[i])
			return 0;
		if (!only_comm[i])
			break;
	}
	return 1;
}

static __attribute__((always_inline)) void fill(struct event *event)
{
	event->pid = get_current_pid_tgid() >> 32;
	event->uid = get_current_uid_gid();
	get_current_comm(event->comm, sizeof(event->comm));
}

static __attribute__((always_inline)) void send(const struct event *event, const char *filename)
{
	struct event *to = ringbuf_reserve(&events, sizeof(*to), 0);

	if (!to) {
		__sync_fetch_and_add(&dropped, 1);
		return;
	}
	*to = *event;
	if (filename)
		probe_read_kernel_str(to->filename, sizeof(to->filename), filename);
	ringbuf_submit(to, 0);
}

static __attribute__((always_inline)) void on_exec(u32 parent, const char *filename)
{
	struct event event = { .parent = parent };
	u64 now = ktime_get_ns();

	fill(&event);
	if (!is_wanted(&event))
		return;
	map_update_elem(&began, &event.pid, &now, 0);
	// Of short ones it is not known yet.
	if (!min_duration_ns)
		send(&event, filename);
}

static __attribute__((always_inline)) void on_exit(u32 parent, u32 exit_code)
{
	struct event event = { .parent = parent, .ended = 1, .exit_code = exit_code };
	u64 id = get_current_pid_tgid();
	u64 *start;

	// A thread of it.
	if ((u32)id != id >> 32)
		return;
	fill(&event);
	if (!is_wanted(&event))
		return;
	start = map_lookup_elem(&began, &event.pid);
	if (start) {
		event.duration_ns = ktime_get_ns() - *start;
		map_delete_elem(&began, &event.pid);
	}
	if (event.duration_ns < min_duration_ns)
		return;
	send(&event, 0);
}

SEC("tp_btf/sched_process_exec") int process_exec(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct linux_binprm *binprm = (void *)ctx[2];

	on_exec(task->real_parent->tgid, binprm->filename);
	return 0;
}

SEC("tp_btf/sched_process_exit") int process_exit(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	on_exit(task->real_parent->tgid, task->exit_code);
	return 0;
}

SEC("tp/sched/sched_process_exec") int tp_exec(struct exec_context *ctx)
{
	on_exec(0, (const char *)ctx + (ctx->filename_place & 0xffff));
	return 0;
}

SEC("tp/sched/sched_process_exit") int tp_exit(void *ctx)
{
	on_exit(0, 0);
	return 0;
}
