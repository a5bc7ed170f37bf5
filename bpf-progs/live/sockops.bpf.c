//# target: kernels
//# requires: clang>=14
// What happens to the TCP sockets of a cgroup; `seen` has a bit for each operation.
#include "live.h"

struct bpf_sock_ops {
	u32 op, args[4], family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port;
};

u32 seen, last_local_port;

SEC("sockops") int count(struct bpf_sock_ops *ctx)
{
	hits++;
	seen |= 1u << (ctx->op & 31);
	last_local_port = ctx->local_port;
	return 1;
}
