//# target: kernels
//# requires: clang>=14
// setsockopt and getsockopt in a cgroup; `deny` refuses the first.
#include "live.h"

struct bpf_sockopt {
	void *sk, *optval, *optval_end;
	s32 level, optname, optlen, retval;
};

u64 gets;
u32 deny;
s32 last_level, last_optname;

SEC("cgroup/setsockopt") int set(struct bpf_sockopt *ctx)
{
	hits++;
	last_level = ctx->level;
	last_optname = ctx->optname;
	/* What is longer than the kernel shows is left alone. */
	if (ctx->optlen > 4096)
		ctx->optlen = 0;
	return deny ? 0 : 1;
}

SEC("cgroup/getsockopt") int get(struct bpf_sockopt *ctx)
{
	gets++;
	if (ctx->optlen > 4096)
		ctx->optlen = 0;
	return 1;
}
