//# target: kernels
//# requires: clang>=14
// Guards of accesses and calls that some kernels lack, in the forms in which programs write them. 5.14 renamed `state` of
// `task_struct` to `__state`. bpf_ktime_get_tai_ns() came with 6.1.
#include "live.h"

#define TRACEPOINT SEC("tp_btf/sched_switch") int
#define PREVIOUS(ctx) ((struct task_struct *)(ctx)[1])

struct task_struct {
	u32 __state;
	int pid;
} CORE;

struct task_struct___old {
	long state;
} CORE;

enum bpf_func_id___new {
	BPF_FUNC_ktime_get_tai_ns___new = 208,
};

static u64 (*const ktime_get_tai_ns)(void) = (void *)208;
static u64 (*const get_current_task_btf)(void) = (void *)158;
static long (*const for_each_map_elem)(void *map, void *callback, void *ctx, u64 flags) = (void *)164;

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 4);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} numbers SEC(".maps");

extern const int LINUX_KERNEL_VERSION __kconfig;
extern const _Bool CONFIG_CORE_RELO_NO_SUCH_OPTION __kconfig __weak;

const volatile u32 wants_state = 0;
u64 sum;

/* Without a guard. */

TRACEPOINT unguarded(u64 *ctx)
{
	sum = PREVIOUS(ctx)->__state;
	return 0;
}

TRACEPOINT unguarded_old(u64 *ctx)
{
	sum = ((struct task_struct___old *)PREVIOUS(ctx))->state;
	return 0;
}

TRACEPOINT unguarded_helper(u64 *ctx)
{
	sum = ktime_get_tai_ns();
	return 0;
}

/* Behind a guard of another field. */
TRACEPOINT wrong_guard(u64 *ctx)
{
	if (field_exists(PREVIOUS(ctx)->pid))
		sum = PREVIOUS(ctx)->__state;
	return 0;
}

/* In one function. */

TRACEPOINT guarded(u64 *ctx)
{
	if (field_exists(PREVIOUS(ctx)->__state))
		sum = PREVIOUS(ctx)->__state;
	return 0;
}

TRACEPOINT either(u64 *ctx)
{
	struct task_struct___old *old = (void *)PREVIOUS(ctx);

	if (field_exists(PREVIOUS(ctx)->__state))
		sum = PREVIOUS(ctx)->__state;
	else
		sum = old->state;
	return 0;
}

TRACEPOINT negated(u64 *ctx)
{
	if (!field_exists(PREVIOUS(ctx)->__state))
		return 0;
	sum = PREVIOUS(ctx)->__state;
	return 0;
}

TRACEPOINT conjunction(u64 *ctx)
{
	if (field_exists(PREVIOUS(ctx)->__state) && PREVIOUS(ctx)->pid > 5 && only_pid)
		sum = PREVIOUS(ctx)->__state;
	return 0;
}

TRACEPOINT disjunction(u64 *ctx)
{
	if (!field_exists(PREVIOUS(ctx)->__state) || PREVIOUS(ctx)->pid < 5 || only_pid)
		return 0;
	sum = PREVIOUS(ctx)->__state;
	return 0;
}

TRACEPOINT spilled(u64 *ctx)
{
	volatile u32 exists = field_exists(PREVIOUS(ctx)->__state);

	if (exists)
		sum = PREVIOUS(ctx)->__state;
	return 0;
}

TRACEPOINT in_loop(u64 *ctx)
{
	u64 total = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 10; i++) {
		if (field_exists(PREVIOUS(ctx)->__state))
			total += PREVIOUS(ctx)->__state;
		total += get_current_pid_tgid();
	}
	sum = total;
	return 0;
}

/* By other values. */

TRACEPOINT frozen(u64 *ctx)
{
	if (wants_state)
		sum = PREVIOUS(ctx)->__state;
	return 0;
}

TRACEPOINT version(u64 *ctx)
{
	if (LINUX_KERNEL_VERSION >= 0x050e00)
		sum = PREVIOUS(ctx)->__state;
	return 0;
}

TRACEPOINT config(u64 *ctx)
{
	if (CONFIG_CORE_RELO_NO_SUCH_OPTION)
		sum = PREVIOUS(ctx)->__state;
	return 0;
}

TRACEPOINT enumerator(u64 *ctx)
{
	if (enumval_exists(enum bpf_func_id___new, BPF_FUNC_ktime_get_tai_ns___new))
		sum = ktime_get_tai_ns();
	return 0;
}

/* In other functions. */

static inline __attribute__((always_inline)) u64 read_state(struct task_struct *task)
{
	struct task_struct___old *old = (void *)task;

	if (field_exists(task->__state))
		return task->__state;
	if (field_exists(old->state))
		return old->state;
	return 0;
}

TRACEPOINT inlined(u64 *ctx)
{
	sum = read_state(PREVIOUS(ctx));
	return 0;
}

static NOINLINE int has_state(struct task_struct *task)
{
	return field_exists(task->__state);
}

TRACEPOINT asks_subprogram(u64 *ctx)
{
	if (has_state(PREVIOUS(ctx)))
		sum = PREVIOUS(ctx)->__state;
	return 0;
}

static NOINLINE u64 guarded_state(struct task_struct *task)
{
	if (!field_exists(task->__state))
		return 0;
	return task->__state;
}

TRACEPOINT in_subprogram(u64 *ctx)
{
	sum = guarded_state(PREVIOUS(ctx));
	return 0;
}

/* The verifier checks a global function with any argument, whatever the callers pass. */
NOINLINE int time_if(int wanted)
{
	if (wanted)
		sum = ktime_get_tai_ns();
	return 0;
}

TRACEPOINT in_global_function(u64 *ctx)
{
	return time_if(0);
}

static long guarded_each(void *map, u32 *key, u64 *value, void *ctx)
{
	if (enumval_exists(enum bpf_func_id___new, BPF_FUNC_ktime_get_tai_ns___new))
		sum += ktime_get_tai_ns();
	return 0;
}

static long old_each(void *map, u32 *key, u64 *value, void *ctx)
{
	struct task_struct___old old;

	probe_read_kernel(&old, field_size(((struct task_struct___old *)0)->state), (void *)get_current_task_btf());
	return 0;
}

TRACEPOINT in_callback(u64 *ctx)
{
	for_each_map_elem(&numbers, guarded_each, (void *)0, 0);
	return 0;
}

/* The guard is a constant on the stack of the caller. */
struct each_context {
	struct task_struct___old *old;
	u64 has_state;
};

static long context_each(void *map, u32 *key, u64 *value, struct each_context *context)
{
	if (context->has_state)
		sum += context->old->state;
	return 0;
}

TRACEPOINT in_callback_context(u64 *ctx)
{
	struct each_context context = {
		.old = (void *)PREVIOUS(ctx),
		.has_state = field_exists(((struct task_struct___old *)0)->state),
	};

	for_each_map_elem(&numbers, context_each, &context, 0);
	return 0;
}

TRACEPOINT unguarded_callback(u64 *ctx)
{
	for_each_map_elem(&numbers, old_each, (void *)0, 0);
	return 0;
}

/* may_goto, as bytes, so that every compiler can build it: leaves a loop when its budget is used up. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MAY_GOTO(label) \
	asm goto("1: .byte 0xe5; .byte 0; .long ((%l[" #label "] - 1b - 8) / 8) & 0xffff; .short 0" : : : : label)
#else
#define MAY_GOTO(label) \
	asm goto("1: .byte 0xe5; .byte 0; .long (((%l[" #label "] - 1b - 8) / 8) & 0xffff) << 16; .short 0" : : : : label)
#endif

TRACEPOINT in_may_goto_loop(u64 *ctx)
{
	struct task_struct___old *old = (void *)PREVIOUS(ctx);

#pragma clang loop unroll(disable)
	for (;;) {
		MAY_GOTO(done);
		if (field_exists(old->state))
			sum += old->state;
		else
			sum += PREVIOUS(ctx)->__state;
	}
done:
	return 0;
}
