/* The declarations of libbpf's headers and of vmlinux.h that the programs use. The macros are those of libbpf. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define CORE __attribute__((preserve_access_index))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define __weak __attribute__((weak))
#define bpf_ksym_exists(sym) ({                                                                     \
	_Static_assert(!__builtin_constant_p(!!sym), #sym " should be marked as __weak");           \
	!!sym;                                                                                      \
})

#define ___field_ref1(field) (field)
#define ___field_ref2(type, field) (((typeof(type) *)0)->field)
#define ___select(_1, _2, name, ...) name
#define ___field_ref(args...) ___select(args, ___field_ref2, ___field_ref1)(args)
#define bpf_core_field_exists(field...) __builtin_preserve_field_info(___field_ref(field), 2)
#define bpf_core_field_size(field...) __builtin_preserve_field_info(___field_ref(field), 1)
#define bpf_core_type_exists(type) __builtin_preserve_type_info(*(typeof(type) *)0, 0)
#define bpf_core_enum_value_exists(type, value) __builtin_preserve_enum_value(*(typeof(type) *)value, 0)
#define bpf_core_enum_value(type, value) __builtin_preserve_enum_value(*(typeof(type) *)value, 1)

static long (*const bpf_probe_read_kernel)(void *dst, u32 size, const void *from) = (void *)113;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u64 (*const bpf_ktime_get_coarse_ns)(void) = (void *)160;
static u64 (*const bpf_get_func_ip)(void *ctx) = (void *)173;

#define ___read(src, field) ({                                                                      \
	typeof((src)->field) ___r;                                                                  \
	bpf_probe_read_kernel(&___r, sizeof(___r), __builtin_preserve_access_index(&(src)->field)); \
	___r;                                                                                       \
})
#define ___read2(src, a) ___read(src, a)
#define ___read3(src, a, b) ({ typeof((src)->a) ___p = ___read(src, a); ___read(___p, b); })
#define ___select_read(_1, _2, _3, name, ...) name
#define BPF_CORE_READ(args...) ___select_read(args, ___read3, ___read2)(args)

enum bpf_func_id {
	BPF_FUNC_ktime_get_ns = 5,
	BPF_FUNC_ktime_get_coarse_ns = 160,
	BPF_FUNC_get_func_ip = 173,
};

enum bpf_map_type {
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_ARENA = 33,
};

struct robust_list_head;

struct task_struct {
	int pid;
	u32 __state;
	struct task_struct *real_parent;
	struct robust_list_head *robust_list;
} CORE;

char _license[] SEC("license") = "GPL";
u64 result;
