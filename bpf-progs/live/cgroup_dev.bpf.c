//# target: kernels
//# requires: clang>=14
// Device files opened or made in a cgroup; `deny_major` and `deny_minor` name one that may not be.
#include "live.h"

struct bpf_cgroup_dev_ctx {
	u32 access_type, major, minor;
};

u32 deny_major, deny_minor;

SEC("cgroup/dev") int access(struct bpf_cgroup_dev_ctx *ctx)
{
	hits++;
	return deny_major && ctx->major == deny_major && ctx->minor == deny_minor ? 0 : 1;
}
