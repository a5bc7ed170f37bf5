//# target: kernels
//# requires: clang>=15
// A reference to a task, kept in a map and dropped by the next run.
#include "live.h"

static void *(*const kptr_xchg)(void *where, void *new) = (void *)194;

struct task_struct {
	int pid, tgid;
} CORE;

extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;

struct kept {
	struct task_struct __attribute__((btf_type_tag("kptr"))) *task;
};

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct kept);
} store SEC(".maps");

u64 replaced;

SEC("tc") int swap(void *ctx)
{
	struct task_struct *task;
	struct kept *kept;
	u32 key = 0;

	kept = map_lookup_elem(&store, &key);
	task = bpf_task_from_pid(only_pid);
	if (!task)
		return 1;
	if (!kept) {
		bpf_task_release(task);
		return 1;
	}
	hits++;
	task = kptr_xchg(&kept->task, task);
	if (task) {
		replaced++;
		bpf_task_release(task);
	}
	return 0;
}
