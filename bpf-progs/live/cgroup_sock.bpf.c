//# target: kernels
//# requires: clang>=14
// Sockets made and bound in a cgroup; `deny` refuses new ones.
#include "live.h"

struct bpf_sock {
	u32 bound_dev_if, family, type, protocol;
};

u64 bound, released;
u32 deny, last_family;

SEC("cgroup/sock_create") int create(struct bpf_sock *sk)
{
	hits++;
	last_family = sk->family;
	return deny ? 0 : 1;
}

SEC("cgroup/post_bind4") int post_bind4(struct bpf_sock *sk)
{
	bound++;
	return 1;
}

SEC("cgroup/sock_release") int release(struct bpf_sock *sk)
{
	released++;
	return 1;
}
