//# target: kernels
//# requires: clang>=14
// Chooses a listening socket for packets to `port`.
#include "live.h"

static long (*const sk_assign)(void *ctx, void *sk, u64 flags) = (void *)124;
static long (*const sk_release)(void *sk) = (void *)86;

struct bpf_sk_lookup {
	u64 sk;
	u32 family, protocol, remote_ip4, remote_ip6[4], remote_port, local_ip4, local_ip6[4], local_port;
};

struct {
	MAP_UINT(type, MAP_SOCKMAP);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} listener SEC(".maps");

u32 port;

SEC("sk_lookup") int lookup(struct bpf_sk_lookup *ctx)
{
	u32 key = 0;
	void *sk;

	if (ctx->local_port != port)
		return 1; /* SK_PASS */
	hits++;
	sk = map_lookup_elem(&listener, &key);
	if (sk) {
		sk_assign(ctx, sk, 0);
		sk_release(sk);
	}
	return 1;
}
