//# target: kernels
//# requires: clang>=14
// Probes in a program's functions; where, is said when they are attached.
#include "live.h"

static u64 (*const get_attach_cookie)(void *ctx) = (void *)174;
extern const _Bool LINUX_HAS_BPF_COOKIE __kconfig;

u64 returns, cookie;

SEC("uprobe") int entry(void *ctx)
{
	if (mine()) {
		hits++;
		if (LINUX_HAS_BPF_COOKIE)
			cookie = get_attach_cookie(ctx);
	}
	return 0;
}

SEC("uretprobe") int back(void *ctx)
{
	if (mine())
		returns++;
	return 0;
}
