//# target: same flat deeper named swapped
//# expect same raw_tp/load#0 field_byte_offset keep 0->0
//# expect same raw_tp/load#1 field_byte_offset keep 8->8
//# expect same raw_tp/load#2 field_byte_offset keep 12->12
//# expect same raw_tp/load#3 field_byte_offset keep 8->8
//# expect same raw_tp/load#4 field_byte_offset keep 16->16
//# expect same raw_tp/load#5 field_byte_offset keep 16->16
//# expect same raw_tp/load#6 field_byte_offset keep 18->18
//# expect same raw_tp/load#7 field_byte_offset keep 20->20
//# expect same raw_tp/load#8 field_byte_offset keep 24->24
//# expect flat raw_tp/load#0 field_byte_offset patch 0->20
//# expect flat raw_tp/load#1 field_byte_offset patch 8->16
//# expect flat raw_tp/load#2 field_byte_offset keep 12->12
//# expect flat raw_tp/load#3 field_byte_offset patch 8->0
//# expect flat raw_tp/load#4 field_byte_offset patch 16->10
//# expect flat raw_tp/load#5 field_byte_offset patch 16->24
//# expect flat raw_tp/load#6 field_byte_offset patch 18->8
//# expect flat raw_tp/load#7 field_byte_offset patch 20->32
//# expect flat raw_tp/load#8 field_byte_offset patch 24->28
//# expect deeper raw_tp/load#0 field_byte_offset patch 0->16
//# expect deeper raw_tp/load#1 field_byte_offset patch 8->28
//# expect deeper raw_tp/load#2 field_byte_offset patch 12->24
//# expect deeper raw_tp/load#3 field_byte_offset patch 8->40
//# expect deeper raw_tp/load#4 field_byte_offset patch 16->40
//# expect deeper raw_tp/load#5 field_byte_offset patch 16->32
//# expect deeper raw_tp/load#6 field_byte_offset patch 18->52
//# expect deeper raw_tp/load#7 field_byte_offset patch 20->64
//# expect deeper raw_tp/load#8 field_byte_offset patch 24->72
//# expect named raw_tp/load#0 field_byte_offset keep 0->0
//# expect named raw_tp/load#1 field_byte_offset poison
//# expect named raw_tp/load#2 field_byte_offset poison
//# expect named raw_tp/load#3 field_byte_offset poison
//# expect named raw_tp/load#4 field_byte_offset poison
//# expect named raw_tp/load#5 field_byte_offset poison
//# expect named raw_tp/load#6 field_byte_offset poison
//# expect named raw_tp/load#7 field_byte_offset poison
//# expect named raw_tp/load#8 field_byte_offset poison
//# expect swapped raw_tp/load#0 field_byte_offset keep 0->0
//# expect swapped raw_tp/load#1 field_byte_offset keep 8->8
//# expect swapped raw_tp/load#2 field_byte_offset patch 12->8
//# expect swapped raw_tp/load#3 field_byte_offset patch 8->16
//# expect swapped raw_tp/load#4 field_byte_offset patch 16->24
//# expect swapped raw_tp/load#5 field_byte_offset patch 16->26
//# expect swapped raw_tp/load#6 field_byte_offset patch 18->24
//# expect swapped raw_tp/load#7 field_byte_offset patch 20->28
//# expect swapped raw_tp/load#8 field_byte_offset patch 24->28
// Fields inside anonymous structs and unions, and inside named ones.
#include "core.h"

struct outer {
	u32 x;
	union {
		struct {
			u32 a;
			u32 b;
		};
		u64 whole;
	};
	struct {
		struct {
			union {
				u16 deep;
				u8 byte;
			};
			u16 deeper;
		};
	};
	struct {
		u32 in;
		struct {
			u32 far;
		} further;
	} named;
} CORE;

PROG(load)(struct outer *p)
{
	USE(p->x);
	USE(p->a);
	USE(p->b);
	USE(p->whole);
	USE(p->deep);
	USE(p->byte);
	USE(p->deeper);
	USE(p->named.in);
	USE(p->named.further.far);
	return 0;
}
