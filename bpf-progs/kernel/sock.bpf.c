//# target: kernels
// Connections: addresses and ports of a socket, buffers and timers of TCP, and the bitfields among them.
#include "helpers.h"

struct in6_addr {
	union {
		u8 u6_addr8[16];
		u32 u6_addr32[4];
	} in6_u;
} CORE;

struct sock_common {
	union {
		u64 skc_addrpair;
		struct {
			u32 skc_daddr;
			u32 skc_rcv_saddr;
		};
	};
	union {
		u32 skc_portpair;
		struct {
			u16 skc_dport;
			u16 skc_num;
		};
	};
	u16 skc_family;
	volatile unsigned char skc_state;
	unsigned char skc_reuse : 4;
	unsigned char skc_reuseport : 1;
	unsigned char skc_ipv6only : 1;
	struct in6_addr skc_v6_daddr;
} CORE;

struct sock {
	struct sock_common __sk_common;
	int sk_rcvbuf;
	u32 sk_mark;
	u16 sk_type;
	u16 sk_protocol;
	int sk_err;
	u8 sk_shutdown;
} CORE;

/* 5.10: bitfields of one word. */
struct sock___bits {
	unsigned int sk_padding : 1, sk_kern_sock : 1, sk_no_check_tx : 1, sk_no_check_rx : 1;
} CORE;

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
	u8 icsk_retransmits;
	u32 icsk_rto;
} CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 srtt_us;
	u32 rcv_nxt;
	u32 mss_cache;
	u64 bytes_acked;
	u8 nonagle : 4;
	u8 thin_lto : 1;
	u8 repair : 1;
	u8 frto : 1;
	u8 is_sack_reneg : 1;
	u8 rate_app_limited : 1;
} CORE;

enum {
	TCP_ESTABLISHED = 1,
};

u64 totals[8];

SEC("raw_tp/inet_sock_set_state") int state(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct sock___bits *bits = (void *)sk;
	u32 v6[4] = {};

	if (READ(sk, __sk_common.skc_state) != TCP_ESTABLISHED)
		return 0;
	totals[0] += READ(sk, __sk_common.skc_daddr) + READ(sk, __sk_common.skc_rcv_saddr);
	totals[1] += READ(sk, __sk_common.skc_dport) + READ(sk, __sk_common.skc_num);
	totals[2] += READ(sk, __sk_common.skc_family) + READ(sk, sk_protocol) + READ(sk, sk_type);
	totals[3] += READ(sk, sk_rcvbuf) + READ(sk, sk_mark) + READ(sk, sk_err) + READ(sk, sk_shutdown);
	totals[4] += READ_BITS(sk, __sk_common.skc_reuse) + READ_BITS(sk, __sk_common.skc_ipv6only);
	if (field_exists(bits->sk_kern_sock))
		totals[5] += READ_BITS(bits, sk_kern_sock);
	probe_read_kernel(v6, field_size(sk->__sk_common.skc_v6_daddr), &sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[0]);
	totals[6] += v6[0] ^ READ(sk, __sk_common.skc_v6_daddr.in6_u.u6_addr32[3]);
	return 0;
}

SEC("raw_tp/tcp_probe") int probe(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];

	totals[0] += READ(tp, snd_cwnd) + READ(tp, srtt_us) + READ(tp, rcv_nxt) + READ(tp, mss_cache);
	totals[1] += READ(tp, bytes_acked) + READ(tp, inet_conn.icsk_retransmits);
	totals[2] += READ_BITS(tp, nonagle) + READ_BITS(tp, repair) + READ_BITS(tp, rate_app_limited);
	totals[3] += READ_BITS(tp, inet_conn.icsk_ca_state);
	if (field_exists(tp->is_sack_reneg))
		totals[4] += READ_BITS(tp, is_sack_reneg);
	if (field_exists(tp->inet_conn.icsk_rto))
		totals[5] += READ(tp, inet_conn.icsk_rto);
	return 0;
}
