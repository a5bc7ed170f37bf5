//# target: kernels
//# requires: clang>=14
// A number kept with each task.
#include "live.h"

static void *(*const task_storage_get)(void *map, void *task, void *value, u64 flags) = (void *)156;
static void *(*const get_current_task_btf)(void) = (void *)158;

struct {
	MAP_UINT(type, MAP_TASK_STORAGE);
	MAP_UINT(map_flags, 1); /* BPF_F_NO_PREALLOC */
	MAP_TYPE(key, int);
	MAP_TYPE(value, u64);
} calls SEC(".maps");

SEC("tp_btf/sys_enter") int enter(u64 *ctx)
{
	u64 *count;

	if (!mine())
		return 0;
	count = task_storage_get(&calls, get_current_task_btf(), (void *)0, 1 /* BPF_LOCAL_STORAGE_GET_F_CREATE */);
	if (count) {
		*count += 1;
		hits++;
	}
	return 0;
}
