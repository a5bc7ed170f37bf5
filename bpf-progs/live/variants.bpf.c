//# target: kernels
//# requires: clang>=14
// One object for many kernels. Opened files are counted by the best kind of tracing program, system calls are sent through the best
// kind of buffer, a sum is computed with the best helper, functions are probed by one link or by several, packets are counted by the
// best classifier; what a kernel lacks is left out, and constants tell the programs so.
#include "live.h"
#include "../../build/include/core_relo.h"

#define MAP_BLOOM_FILTER 30

static long (*const perf_event_output)(void *ctx, void *map, u64 flags, const void *data, u64 size) = (void *)25;
static long (*const map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*const ringbuf_output)(void *ringbuf, const void *data, u64 size, u64 flags) = (void *)130;
static long (*const loop)(u32 count, void *callback, void *ctx, u64 flags) = (void *)181;

struct {
	MAP_UINT(type, MAP_RINGBUF);
	MAP_UINT(max_entries, 64 * 1024);
} ring SEC(".maps");

struct {
	MAP_UINT(type, MAP_PERF_EVENT_ARRAY);
	MAP_UINT(key_size, 4);
	MAP_UINT(value_size, 4);
} perf SEC(".maps");

struct {
	MAP_UINT(type, MAP_BLOOM_FILTER);
	MAP_UINT(value_size, 4);
	MAP_UINT(max_entries, 64);
} bloom SEC(".maps") OPTIONAL;

const volatile _Bool has_ring LOADED("map:ring");
const volatile _Bool has_bloom __weak LOADED("bloom");
const volatile u32 has_absent LOADED("absent");
const volatile u32 tgid_offset OFFSET_OF("task_struct.tgid");
const volatile u64 task_size SIZE_OF("struct task_struct");
const volatile s32 loop_number ENUM_VALUE("enum bpf_func_id.BPF_FUNC_loop") OPTIONAL = -1;
const volatile _Bool has_state HAS_FIELD("task_struct.__state");
const volatile u32 state_offset OFFSET_OF("task_struct.__state") OPTIONAL = 0xffffffff;

u64 sent, same_tgid, pushed, sum, probed, packets;

/* Counts a file that the process opens. */

SEC("fentry/do_sys_openat2") VARIANT(open, 1) int open_fentry(u64 *ctx)
{
	COUNT_MINE();
}

SEC("?kprobe/do_sys_openat2") VARIANT(open, 2) int open_kprobe(void *ctx)
{
	COUNT_MINE();
}

SEC("?tracepoint/syscalls/sys_enter_openat") VARIANT(open, 3) int open_tp(void *ctx)
{
	COUNT_MINE();
}

/* Sends the process of a system call, which is read from its task by an offset of the kernel's types. */

static inline u32 task_tgid(void)
{
	u32 tgid = 0;

	probe_read_kernel(&tgid, sizeof(tgid), (void *)(get_current_task() + tgid_offset));
	if (tgid == (u32)(get_current_pid_tgid() >> 32))
		same_tgid++;
	if (has_bloom && !map_push_elem(&bloom, &tgid, 0))
		pushed++;
	return tgid;
}

SEC("raw_tp/sys_enter") VARIANT(send, 1) int send_ring(void *ctx)
{
	u32 tgid;

	if (!mine())
		return 0;
	tgid = task_tgid();
	if (!ringbuf_output(&ring, &tgid, sizeof(tgid), 0))
		sent++;
	return 0;
}

SEC("?raw_tp/sys_enter") VARIANT(send, 2) int send_perf(void *ctx)
{
	u32 tgid;

	if (!mine())
		return 0;
	tgid = task_tgid();
	if (!perf_event_output(ctx, &perf, 0xffffffff, &tgid, sizeof(tgid)))
		sent++;
	return 0;
}

/* Adds 0 to 9, with a helper since Linux 5.17 or in a loop of its own. */

static int add(u64 index, void *ctx)
{
	sum += index;
	return 0;
}

SEC("tc") VARIANT(sum, 1) int sum_helper(void *ctx)
{
	sum = 0;
	loop(10, add, 0, 0);
	return 0;
}

SEC("?tc") VARIANT(sum, 2) int sum_loop(void *ctx)
{
	sum = 0;
	for (u64 index = 0; index < 10; index++)
		sum += index;
	return 0;
}

/* Counts calls of functions that a test run of a tracing program calls: with one link for all, or with a probe for each of two. */

SEC("?kprobe.multi/bpf_fentry_test?") VARIANT(probes, 1) OPTIONAL int probes_multi(void *ctx)
{
	if (mine())
		probed++;
	return 0;
}

SEC("kprobe/bpf_fentry_test1") VARIANT(probes, 2) int probe_first(void *ctx)
{
	if (mine())
		probed++;
	return 0;
}

SEC("kprobe/bpf_fentry_test2") VARIANT(probes, 2) int probe_second(void *ctx)
{
	if (mine())
		probed++;
	return 0;
}

/* Counts packets. */

SEC("?tcx/ingress") VARIANT(ingress, 1) int ingress_tcx(struct __sk_buff *skb)
{
	packets++;
	return -1;
}

SEC("tc") VARIANT(ingress, 2) int ingress_tc(struct __sk_buff *skb)
{
	packets++;
	return -1;
}

/* No kernel has this function. */
SEC("fentry/core_relo_absent") OPTIONAL int absent(u64 *ctx)
{
	return 0;
}
