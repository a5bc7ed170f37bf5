/* Programs whose types, targets and maps user space sets. The settings of the tests name all of them. */
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_tail_call)(void *ctx, void *map, u32 index) = (void *)12;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_discard)(void *data, u64 flags) = (void *)133;
/* A helper that no kernel has. */
static long (*no_such_helper)(void) = (void *)9999;

struct ring {
	__uint(type, 27);
};

/* A ring buffer for each processor: user space knows how many there are, and how large. */
struct {
	__uint(type, 12);
	__type(key, u32);
	__type(value, u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* A map for each container, whose definition only user space has. */
struct {
	__uint(type, 13);
	__uint(max_entries, 16);
	__uint(key_size, sizeof(u64));
	__uint(value_size, sizeof(u32));
} containers SEC(".maps");

struct {
	__uint(type, 3);
	__uint(max_entries, 4);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
} jumps SEC(".maps");

const volatile int is_new = 1;

SEC("classifier/ingress")
int classify(void *ctx)
{
	u32 zero = 0;
	u64 id = 1;
	void *rules = bpf_map_lookup_elem(&containers, &id);
	u64 *rule = rules ? bpf_map_lookup_elem(rules, &zero) : 0;

	return rule ? *rule & 1 : 0;
}

SEC("raw_tp/sys_enter")
int enter(void *ctx)
{
	u32 cpu = 0;
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	void *record = ring ? bpf_ringbuf_reserve(ring, 8, 0) : 0;

	if (record)
		bpf_ringbuf_discard(record, 0);
	bpf_tail_call(ctx, &jumps, 1);
	return 0;
}

SEC("tp_btf")
int hook(void *ctx)
{
	return 0;
}

SEC("?socket1")
int filter(void *ctx)
{
	return is_new ? no_such_helper() : 0;
}

char LICENSE[] SEC("license") = "GPL";
