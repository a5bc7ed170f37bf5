// Frames that come to an interface, counted by protocol. Built by `cargo xtask progs --prebuilt` into prebuilt/; needs no header.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))

char _license[] SEC("license") = "Dual MIT/GPL";

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)1;

enum {
	XDP_PASS = 2,
	// After the 256 protocols that IP has.
	ARP = 256,
	OTHER = 257,
	COUNTERS = 258,
};

// The context of XDP programs, and the headers: they are the same everywhere.
struct xdp_md {
	u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};

struct ethernet {
	u8 to[6], from[6], protocol[2];
};

struct ipv4 {
	u8 version, service;
	u16 length, id, fragment;
	u8 ttl, protocol;
	u16 checksum;
	u32 from, to;
};

struct ipv6 {
	u32 flow;
	u16 length;
	u8 protocol, hops;
	u8 from[16], to[16];
};

struct count {
	u64 frames, bytes;
};

// Each processor counts for itself, so that none waits for another.
struct {
	int (*type)[6]; /* BPF_MAP_TYPE_PERCPU_ARRAY */
	int (*max_entries)[COUNTERS];
	u32 *key;
	struct count *value;
} counts SEC(".maps");

static __attribute__((always_inline)) u32 protocol_of(void *data, void *end)
{
	struct ethernet *ethernet = data;
	struct ipv4 *ipv4 = (void *)(ethernet + 1);
	struct ipv6 *ipv6 = (void *)(ethernet + 1);

	if ((void *)(ethernet + 1) > end)
		return OTHER;
	switch (ethernet->protocol[0] << 8 | ethernet->protocol[1]) {
	case 0x0800:
		return (void *)(ipv4 + 1) <= end ? ipv4->protocol : OTHER;
	case 0x86dd:
		return (void *)(ipv6 + 1) <= end ? ipv6->protocol : OTHER;
	case 0x0806:
		return ARP;
	}
	return OTHER;
}

SEC("xdp") int count(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u32 protocol = protocol_of(data, end);
	struct count *count = map_lookup_elem(&counts, &protocol);

	if (count) {
		count->frames++;
		count->bytes += end - data;
	}
	return XDP_PASS;
}
