//# target: kernels
//# requires: clang>=14
// Packets at a hook of netfilter; `deny` drops them.
#include "live.h"

u32 deny;

SEC("netfilter") int hook(void *ctx)
{
	hits++;
	return deny ? 0 : 1; /* NF_DROP, NF_ACCEPT */
}
