/* What the programs in live/ have in common. They are loaded, attached and fired by the live tests, which read and set
 * their globals. */
#ifndef LIVE_H
#define LIVE_H

#include "helpers.h"

#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define __weak __attribute__((weak))

/* How often the program ran, as far as it counts. */
u64 hits;
/* The process whose events a tracing program counts. */
u32 only_pid;

/* Is it that process? */
static inline int mine(void)
{
	return (u32)(get_current_pid_tgid() >> 32) == only_pid;
}

/* Counts and leaves. For tracing programs. */
#define COUNT_MINE()            \
	do {                    \
		if (mine())     \
			hits++; \
		return 0;       \
	} while (0)

enum map_type {
	MAP_HASH = 1,
	MAP_ARRAY = 2,
	MAP_PROG_ARRAY = 3,
	MAP_PERF_EVENT_ARRAY = 4,
	MAP_PERCPU_HASH = 5,
	MAP_PERCPU_ARRAY = 6,
	MAP_LRU_HASH = 9,
	MAP_LPM_TRIE = 11,
	MAP_ARRAY_OF_MAPS = 12,
	MAP_SOCKMAP = 15,
	MAP_REUSEPORT_SOCKARRAY = 20,
	MAP_QUEUE = 22,
	MAP_STACK = 23,
	MAP_RINGBUF = 27,
	MAP_TASK_STORAGE = 29,
	MAP_USER_RINGBUF = 31,
	MAP_ARENA = 33,
};

/* Contexts, as far as the programs read them: the kernel's ABI. */
struct __sk_buff {
	u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority, ingress_ifindex;
	u32 ifindex, tc_index, cb[5], hash, tc_classid, data, data_end, napi_id;
	u32 family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port;
	u32 data_meta;
	struct bpf_flow_keys *flow_keys __attribute__((aligned(8)));
};

struct xdp_md {
	u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};

#define PACKET(ctx) ((void *)(long)(ctx)->data)
#define PACKET_END(ctx) ((void *)(long)(ctx)->data_end)

#endif
