//# target: kernels
// What the kernel can do, asked of its enums and types: helpers, map types, link types, zones; some newer than 5.10.
#include "helpers.h"

enum bpf_func_id {
	BPF_FUNC_ringbuf_output = 130,
	BPF_FUNC_loop = 181,
	BPF_FUNC_kptr_xchg = 194,
	BPF_FUNC_user_ringbuf_drain = 209,
	BPF_FUNC_cgrp_storage_get = 210,
	BPF_FUNC_from_the_future = 999,
};
enum bpf_map_type { BPF_MAP_TYPE_RINGBUF = 27, BPF_MAP_TYPE_ARENA = 33 };
enum bpf_link_type { BPF_LINK_TYPE_TCX = 11, BPF_LINK_TYPE_ITER = 4 };
enum pid_type { PIDTYPE_PID, PIDTYPE_TGID, PIDTYPE_PGID, PIDTYPE_SID };
enum cgroup_subsys_id { memory_cgrp_id = 4, cpu_cgrp_id = 1, pids_cgrp_id = 9 };
enum zone_stat_item { NR_FREE_PAGES, NR_MLOCK = 8 };
enum node_stat_item { NR_SLAB_RECLAIMABLE_B = 5, NR_PAGETABLE = 40 };

struct bpf_iter__task {
	int anything;
};
struct bpf_dynptr_kern {
	void *data;
};
struct sched_ext_ops {
	int x;
};
struct task_struct;
struct linux_binprm;
typedef u64 (*btf_bpf_user_ringbuf_drain)(void *, void *, void *, u64);
typedef void (*btf_trace_sched_process_exec)(void *, struct task_struct *, int, struct linux_binprm *);
struct trace_event_raw_sched_switch {
	char prev_comm[16];
	int prev_pid;
	int prev_prio;
	long prev_state;
	char next_comm[16];
	int next_pid;
} CORE;

u64 can[16];

SEC("raw_tp/helpers") int helpers(void *ctx)
{
	can[0] = enumval_exists(enum bpf_func_id, BPF_FUNC_ringbuf_output);
	can[1] = enumval_exists(enum bpf_func_id, BPF_FUNC_loop);
	can[2] = enumval_exists(enum bpf_func_id, BPF_FUNC_kptr_xchg);
	can[3] = enumval_exists(enum bpf_func_id, BPF_FUNC_user_ringbuf_drain);
	can[4] = enumval_exists(enum bpf_func_id, BPF_FUNC_cgrp_storage_get);
	can[5] = enumval_exists(enum bpf_func_id, BPF_FUNC_from_the_future);
	can[6] = enumval_exists(enum bpf_map_type, BPF_MAP_TYPE_ARENA);
	can[7] = enumval_exists(enum bpf_link_type, BPF_LINK_TYPE_TCX);
	return 0;
}

SEC("raw_tp/values") int values(void *ctx)
{
	can[0] = enumval_value(enum pid_type, PIDTYPE_PGID);
	can[1] = enumval_value(enum pid_type, PIDTYPE_SID);
	can[2] = enumval_value(enum cgroup_subsys_id, memory_cgrp_id);
	can[3] = enumval_value(enum cgroup_subsys_id, pids_cgrp_id);
	can[4] = enumval_value(enum zone_stat_item, NR_MLOCK);
	can[5] = enumval_value(enum node_stat_item, NR_PAGETABLE);
	can[6] = enumval_value(enum bpf_map_type, BPF_MAP_TYPE_ARENA);
	can[7] = enumval_value(enum bpf_func_id, BPF_FUNC_from_the_future);
	return 0;
}

SEC("raw_tp/types") int types(void *ctx)
{
	can[0] = type_exists(struct bpf_iter__task);
	can[1] = type_exists(struct bpf_dynptr_kern);
	can[2] = type_exists(struct sched_ext_ops);
	can[3] = type_exists(btf_trace_sched_process_exec);
	can[4] = type_exists(btf_bpf_user_ringbuf_drain);
	can[5] = type_size(struct bpf_dynptr_kern);
	can[6] = type_size(struct sched_ext_ops);
	can[7] = type_id_target(struct bpf_iter__task);
	can[8] = type_id_local(struct bpf_iter__task);
	can[9] = type_id_target(struct sched_ext_ops);
	return 0;
}

SEC("tp/sched/sched_switch") int sched_switch(struct trace_event_raw_sched_switch *ctx)
{
	can[10] = ctx->prev_pid;
	can[11] = ctx->next_pid;
	can[12] = ctx->prev_state;
	return 0;
}
