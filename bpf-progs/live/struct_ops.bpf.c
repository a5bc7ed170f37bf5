//# target: kernels
//# requires: clang>=14
// A congestion control of TCP that never opens its window; registered by updating its map. A table of variants may use `init_other`.
#include "live.h"

struct tcp_sock {
	u32 snd_cwnd, snd_ssthresh;
} CORE;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct tcp_sock *sk);
	void (*cong_avoid)(struct tcp_sock *sk, u32 ack, u32 acked);
	u32 (*undo_cwnd)(struct tcp_sock *sk);
	void (*init)(struct tcp_sock *sk);
	char name[16];
} CORE;

u64 inits, other_inits;

SEC("struct_ops/init") void init(u64 *ctx)
{
	inits++;
}

SEC("?struct_ops/init") void init_other(u64 *ctx)
{
	other_inits++;
}

SEC("struct_ops/ssthresh") u32 ssthresh(u64 *ctx)
{
	return 2;
}

SEC("struct_ops/cong_avoid") void cong_avoid(u64 *ctx)
{
	hits++;
}

SEC("struct_ops/undo_cwnd") u32 undo_cwnd(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];

	return tp->snd_cwnd;
}

SEC(".struct_ops") struct tcp_congestion_ops still = {
	.init = (void *)init,
	.ssthresh = (void *)ssthresh,
	.cong_avoid = (void *)cong_avoid,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "bpf_still",
};
