//# target: kernels
//# requires: clang>=14
// Addresses given to connect, bind and sendmsg in a cgroup; a connection goes to `to_port` if that is set.
#include "live.h"

struct bpf_sock_addr {
	u32 user_family, user_ip4, user_ip6[4], user_port, family, type, protocol;
};

u64 binds, sends;
u32 deny;
/* In network byte order. */
u32 to_port;

SEC("cgroup/connect4") int connect4(struct bpf_sock_addr *ctx)
{
	hits++;
	if (to_port)
		ctx->user_port = to_port;
	return deny ? 0 : 1;
}

SEC("cgroup/bind4") int bind4(struct bpf_sock_addr *ctx)
{
	binds++;
	return 1;
}

SEC("cgroup/sendmsg4") int sendmsg4(struct bpf_sock_addr *ctx)
{
	sends++;
	return 1;
}
