//# target: kernels
//# requires: clang>=14
// All tasks: a line of eight bytes, the thread's and the process's number, for each.
#include "live.h"

static long (*const seq_write)(void *seq, const void *data, u32 size) = (void *)127;

struct task_struct {
	int pid, tgid;
} CORE;

struct bpf_iter_meta {
	void *seq;
	u64 session_id, seq_num;
} CORE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} CORE;

SEC("iter/task") int dump(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	int line[2];

	if (!task)
		return 0;
	hits++;
	line[0] = task->pid;
	line[1] = task->tgid;
	seq_write(ctx->meta->seq, line, sizeof(line));
	return 0;
}
