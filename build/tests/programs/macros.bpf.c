// A use of each macro of the headers in bpf/. Headers of the kernel define these two in other ways.
#define __always_inline __inline__
#define offsetof(type, member) __builtin_offsetof(type, member)
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <core_relo.h>

#define CORE __attribute__((preserve_access_index))

enum pid_type { PIDTYPE_PID, PIDTYPE_MAX = 4 };

struct nsproxy {
	int count;
} CORE;

struct signal_struct {
	unsigned int is_child_subreaper : 1;
	int nr_threads;
} CORE;

struct task_struct {
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct nsproxy *nsproxy;
	char comm[16];
} CORE;

struct event {
	__u32 pid, parent, grandparent;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
	__uint(pinning, LIBBPF_PIN_NONE);
} events SEC(".maps");
EVENT_TYPE(events, struct event);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} jumps SEC(".maps");

extern int LINUX_KERNEL_VERSION __kconfig;
extern enum libbpf_tristate CONFIG_BPF_JIT __kconfig;
extern struct late late SEC(".maps");
extern int bpf_stream_vprintk(int stream, const char *format, const void *words, __u32 size) __weak __ksym;

const volatile int answers = 0;
__u64 sum;

static __noinline int twice(int x)
{
	barrier_var(x);
	return x * 2;
}

SEC("raw_tp/sched_process_exec") int on_exec(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	__u32 key = bpf_htonl(7) + bpf_ntohs(1);
	__u64 one = bpf_cpu_to_be64(1), *count;
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct signal_struct own = {};
	struct nsproxy **proxy;
	char name[16] = {};
	int threads = 0;

	if (!event)
		return 0;
	event->pid = BPF_CORE_READ(task, pid);
	event->parent = BPF_CORE_READ(task, real_parent, tgid);
	event->grandparent = BPF_CORE_READ(task, real_parent, real_parent, group_leader, tgid);
	BPF_CORE_READ_STR_INTO(&event->comm, task, comm);
	BPF_CORE_READ_INTO(&threads, (struct task_struct *)bpf_get_current_task(), signal, nr_threads);
	bpf_ringbuf_submit(event, 0);
	count = bpf_map_lookup_elem(&counts, &key);
	if (count)
		one += *count;
	bpf_map_update_elem(&counts, &key, &one, BPF_ANY);
	if (bpf_core_field_exists(task->nsproxy) && bpf_core_field_exists(struct task_struct, comm))
		sum += bpf_core_field_size(task->comm) + bpf_core_field_offset(struct task_struct, pid);
	if (bpf_core_type_exists(struct nsproxy))
		sum += bpf_core_type_size(struct nsproxy) + bpf_core_type_id_local(struct event);
	sum += bpf_core_type_id_kernel(struct task_struct);
	if (bpf_core_enum_value_exists(enum pid_type, PIDTYPE_PID))
		sum += bpf_core_enum_value(enum pid_type, PIDTYPE_MAX);
	sum += BPF_CORE_READ_BITFIELD_PROBED(signal, is_child_subreaper);
	sum += BPF_PROBE_READ(task, real_parent, tgid) + BPF_PROBE_READ_USER(task, real_parent, tgid);
	BPF_PROBE_READ_INTO(&threads, task, signal, nr_threads);
	BPF_PROBE_READ_USER_INTO(&threads, task, signal, nr_threads);
	BPF_PROBE_READ_STR_INTO(&name, task, comm);
	BPF_PROBE_READ_USER_STR_INTO(&name, task, comm);
	sum += name[0];
	BPF_CORE_WRITE_BITFIELD(&own, is_child_subreaper, threads);
	sum += BPF_CORE_READ_BITFIELD(&own, is_child_subreaper);
	sum += twice(threads) + LINUX_KERNEL_VERSION + CONFIG_BPF_JIT;
	if (LINUX_KERNEL_VERSION >= KERNEL_VERSION(6, 1, 0) && likely(threads) && !unlikely(sum))
		sum++;
	barrier();
	if (answers) {
		bpf_printk("none");
		bpf_printk("%d %d", event->pid, threads);
		bpf_printk("%d %d %s %d", event->pid, threads, name, threads);
		bpf_stream_printk(1, "%d", threads);
		BPF_SNPRINTF(name, sizeof(name), "none");
		BPF_SNPRINTF(name, sizeof(name), "%s %d", task->comm, threads);
		bpf_tail_call_static(ctx, &jumps, 0);
	}
	switch (key) {
	case __bpf_constant_htonl(80):
		sum++;
	}
	bpf_for(threads, 0, 3)
		sum += threads;
	bpf_repeat(3)
		sum++;
	/* The offset in the running kernel. */
	proxy = (void *)count;
	if (proxy)
		sum += container_of(proxy, struct task_struct, nsproxy)->pid;
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
