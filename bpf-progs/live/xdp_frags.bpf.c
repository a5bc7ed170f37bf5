//# target: kernels
//# requires: clang>=14
// XDP that says it can take frames of several buffers.
#include "live.h"

SEC("xdp.frags") int count(struct xdp_md *ctx)
{
	hits++;
	return 2; /* XDP_PASS */
}
