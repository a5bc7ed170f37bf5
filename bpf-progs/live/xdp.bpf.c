//# target: kernels
//# requires: clang>=14
// Frames of an interface, counted; what becomes of them is `action`, or to pass.
#include "live.h"

enum xdp_action {
	XDP_PASS = 2,
};

u64 bytes;
u32 action;

SEC("xdp") int count(struct xdp_md *ctx)
{
	hits++;
	bytes += PACKET_END(ctx) - PACKET(ctx);
	return action ? action : XDP_PASS;
}
