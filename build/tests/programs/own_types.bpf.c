// With the guard GUARD of a header of the kernel, the source brings its types, and bpf_helpers.h adds none.
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32, __wsum;
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

enum bpf_map_type { BPF_MAP_TYPE_RINGBUF = 27 };
enum xdp_action { XDP_PASS = 2 };
typedef _Bool bool;
struct xdp_md {
	__u32 data;
};
struct bpf_iter_num {
	__u64 state;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

SEC("xdp") int pass(struct xdp_md *ctx)
{
	bool is_short = ctx->data == bpf_htonl(7);
	int i;

	bpf_for(i, 0, 3)
		if (is_short)
			return i;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
