//# target: kernels
//# requires: clang>=14
// Settings below /proc/sys read and written in a cgroup; `deny` refuses to write.
#include "live.h"

struct bpf_sysctl {
	u32 write, file_pos;
};

static long (*const sysctl_get_name)(void *ctx, char *to, u64 size, u64 flags) = (void *)101;

char name[64];
u32 deny;

SEC("cgroup/sysctl") int access(struct bpf_sysctl *ctx)
{
	char text[64] = {};

	hits++;
	sysctl_get_name(ctx, text, sizeof(text), 0);
	__builtin_memcpy(name, text, sizeof(name));
	return deny && ctx->write ? 0 : 1;
}
