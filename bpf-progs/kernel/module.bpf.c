//# target: kernels
// Types that live in modules on most kernels: found in the modules' own BTF, if it is given, and nowhere else.
#include "helpers.h"

struct nf_conn {
	u32 mark;
	unsigned long status;
	u32 timeout;
} CORE;

struct veth_priv {
	struct net_device *peer;
	u64 dropped;
	unsigned int requested_headroom;
} CORE;

struct xfs_inode {
	u64 i_ino;
	s64 i_disk_size;
} CORE;

struct bbr {
	u32 min_rtt_us;
	u32 mode : 3;
	u32 full_bw_cnt : 2;
} CORE;

u64 from[8];

SEC("raw_tp/module") int modules(u64 *ctx)
{
	struct nf_conn *ct = (void *)ctx[0];
	struct veth_priv *veth = (void *)ctx[1];
	struct xfs_inode *inode = (void *)ctx[2];
	struct bbr *bbr = (void *)ctx[3];

	from[0] = type_exists(struct nf_conn);
	from[1] = type_exists(struct veth_priv);
	if (field_exists(ct->status))
		from[2] = READ(ct, status);
	if (field_exists(ct->mark))
		from[3] = READ(ct, mark);
	if (field_exists(veth->requested_headroom))
		from[4] = READ(veth, requested_headroom);
	if (field_exists(inode->i_disk_size))
		from[5] = READ(inode, i_disk_size);
	from[6] = READ(bbr, min_rtt_us);
	from[7] = READ_BITS(bbr, full_bw_cnt);
	return 0;
}
