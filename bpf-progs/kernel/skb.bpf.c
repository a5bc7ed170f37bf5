//# target: kernels
// A packet's buffer, read directly (tp_btf) and by probe: bitfields behind anonymous groups, a renamed timestamp flag.
#include "helpers.h"

struct net_device {
	int ifindex;
	unsigned int mtu;
	char name[16];
} CORE;

struct sk_buff {
	struct net_device *dev;
	unsigned int len;
	unsigned int data_len;
	u16 mac_len;
	u16 queue_mapping;
	u8 cloned : 1;
	u8 nohdr : 1;
	u8 fclone : 2;
	u8 peeked : 1;
	u8 pkt_type : 3;
	u8 ip_summed : 2;
	u8 encapsulation : 1;
	u16 protocol;
	u16 transport_header;
	u16 network_header;
	u32 priority;
	u32 hash;
	unsigned char *head;
	unsigned char *data;
	u16 vlan_proto;
	u16 vlan_tci;
	union {
		u32 mark;
		u32 reserved_tailroom;
	};
} CORE;

/* 5.18 to 6.10: one bit; since then a two-bit field of another name. */
struct sk_buff___mono {
	u8 mono_delivery_time : 1;
} CORE;
struct sk_buff___tstamp {
	u8 tstamp_type : 2;
} CORE;

u64 sums[8];

SEC("tp_btf/netif_receive_skb") int direct(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];

	sums[0] += skb->len;
	sums[1] += skb->data_len;
	sums[2] += skb->protocol;
	sums[3] += skb->dev->ifindex;
	sums[4] += skb->dev->mtu;
	sums[5] += skb->hash;
	sums[6] += skb->vlan_tci;
	sums[7] += skb->mark;
	return 0;
}

SEC("raw_tp/netif_receive_skb") int probed(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct sk_buff___mono *mono = (void *)skb;
	struct sk_buff___tstamp *tstamp = (void *)skb;

	sums[0] += READ_BITS(skb, cloned) + READ_BITS(skb, fclone) + READ_BITS(skb, pkt_type);
	sums[1] += READ_BITS(skb, ip_summed) + READ_BITS(skb, encapsulation);
	sums[2] += READ(skb, transport_header) - READ(skb, network_header);
	sums[3] += READ(skb, data) - READ(skb, head);
	sums[4] += READ(skb, priority) + READ(skb, queue_mapping) + READ(skb, mac_len);
	if (field_exists(mono->mono_delivery_time))
		sums[5] += READ_BITS(mono, mono_delivery_time);
	else if (field_exists(tstamp->tstamp_type))
		sums[5] += READ_BITS(tstamp, tstamp_type);
	return 0;
}
