// kernel: 6.1
#include "libbpf.h"
struct own_global { u64 count; u64 total; } CORE;
struct own_record { u64 count; u64 total; } CORE;
struct own_local { u64 count; u64 total; } CORE;
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");
static void *(*const bpf_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;
struct own_global global;

SEC("tp_btf/sched_process_exec") int uses_global(u64 *ctx)
{
	global.total += 1;
	return 0;
}

SEC("tp_btf/sched_process_exec") int uses_record(u64 *ctx)
{
	struct own_record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record)
		return 0;
	record->total = bpf_ktime_get_ns();
	bpf_ringbuf_submit(record, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec") int uses_local(u64 *ctx)
{
	struct own_local local;

	local.count = bpf_ktime_get_ns();
	bpf_probe_read_kernel(&local, sizeof(local), (void *)ctx[0]);
	result = local.total;
	return 0;
}
