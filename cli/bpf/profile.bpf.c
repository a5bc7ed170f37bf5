// The programs of `core-relo prog profile`. Built by `cargo xtask progs --prebuilt` into prebuilt/; needs no header.
//
// `on_entry` and `on_exit` run before and after each run of another program, and read the perf counters of the processor. `on_exit` adds
// the differences to totals of its processor.

typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, of) typeof(of) *name

/* The largest number of metrics. */
#define MAX_METRICS 16

enum { MAP_TYPE_PERF_EVENT_ARRAY = 4, MAP_TYPE_PERCPU_ARRAY = 6 };
enum { MEASURED, UNREADABLE };

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)1;
static u32 (*const get_smp_processor_id)(void) = (void *)8;
static long (*const perf_event_read_value)(void *map, u64 index, void *into, u32 size) = (void *)55;

/* struct bpf_perf_event_value: the count, and the time during which the counter was wanted and did count, in nanoseconds. */
struct reading {
	u64 counter, enabled, running;
};

/* A run of the profiled program. */
struct run {
	struct reading before[MAX_METRICS], after[MAX_METRICS];
	/* Whether `before` belongs to a run that has not ended. A run in an interrupt of another run takes its place. */
	u64 has_begun;
};

/* The counter of metric M on processor P is M * cpu_count + P. The command sets the number of entries. */
struct {
	__uint(type, MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 1);
} events SEC(".maps");

struct {
	__uint(type, MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct run);
} current_run SEC(".maps");

struct {
	__uint(type, MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_METRICS);
	__type(key, u32);
	__type(value, struct reading);
} totals SEC(".maps");

/* The numbers of runs: MEASURED and UNREADABLE. */
struct {
	__uint(type, MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} run_counts SEC(".maps");

const volatile u32 cpu_count;
const volatile u32 metric_count;

char _license[] SEC("license") = "GPL";

static inline int read_counters(struct reading *into)
{
	u32 cpu = get_smp_processor_id();

	for (u32 metric = 0; metric < MAX_METRICS && metric < metric_count; metric++)
		if (perf_event_read_value(&events, metric * cpu_count + cpu, &into[metric], sizeof(*into)))
			return 0;
	return 1;
}

static inline void count_run(u32 kind)
{
	u64 *count = map_lookup_elem(&run_counts, &kind);

	if (count)
		++*count;
}

SEC("fentry")
int on_entry(void *ctx)
{
	u32 only = 0;
	struct run *run = map_lookup_elem(&current_run, &only);

	if (!run)
		return 0;
	run->has_begun = read_counters(run->before);
	if (!run->has_begun)
		count_run(UNREADABLE);
	return 0;
}

SEC("fexit")
int on_exit(void *ctx)
{
	u32 only = 0;
	struct run *run = map_lookup_elem(&current_run, &only);

	if (!run || !run->has_begun)
		return 0;
	run->has_begun = 0;
	if (!read_counters(run->after)) {
		count_run(UNREADABLE);
		return 0;
	}
	count_run(MEASURED);
	for (u32 metric = 0; metric < MAX_METRICS && metric < metric_count; metric++) {
		u32 key = metric;
		struct reading *total = map_lookup_elem(&totals, &key);

		if (!total)
			return 0;
		total->counter += run->after[metric].counter - run->before[metric].counter;
		total->enabled += run->after[metric].enabled - run->before[metric].enabled;
		total->running += run->after[metric].running - run->before[metric].running;
	}
	return 0;
}
