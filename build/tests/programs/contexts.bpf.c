/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Each struct of bpf_types.h; with KERNEL_HEADER, the kernel's struct of the same name. */
#ifdef KERNEL_HEADER
#include <stdbool.h>
#include <linux/bpf.h>
#endif
#include <bpf/bpf_helpers.h>

struct xdp_md xdp_md_;
struct bpf_sock bpf_sock_;
struct __sk_buff sk_buff_;
struct bpf_sock_addr bpf_sock_addr_;
struct bpf_sock_ops bpf_sock_ops_;
struct sk_msg_md sk_msg_md_;
struct sk_reuseport_md sk_reuseport_md_;
struct bpf_sk_lookup bpf_sk_lookup_;
struct bpf_sockopt bpf_sockopt_;
struct bpf_sysctl bpf_sysctl_;
struct bpf_cgroup_dev_ctx bpf_cgroup_dev_ctx_;
struct bpf_sock_tuple bpf_sock_tuple_;
struct bpf_spin_lock bpf_spin_lock_;
struct bpf_timer bpf_timer_;
bool is_closed = false;

SEC("sockops")
int on_sockops(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	if (sk && ctx->op == BPF_SOCK_OPS_STATE_CB && ctx->args[1] == BPF_TCP_CLOSE)
		is_closed = true;
	else if (ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB)
		bpf_sock_ops_cb_flags_set(ctx, BPF_SOCK_OPS_STATE_CB_FLAG);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
