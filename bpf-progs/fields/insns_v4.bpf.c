//# requires: clang>=18
//# cflags: -mcpu=v4
//# target: moved resized gone
//# expect moved raw_tp/st#0 field_byte_offset patch 0->14
//# expect moved raw_tp/st#1 field_byte_offset patch 2->12
//# expect moved raw_tp/st#2 field_byte_offset patch 4->8
//# expect moved raw_tp/st#3 field_byte_offset patch 8->0
//# expect moved raw_tp/ldsx#0 field_byte_offset patch 16->24
//# expect moved raw_tp/ldsx#1 field_byte_offset patch 20->28
//# expect resized raw_tp/st#0 field_byte_offset patch 0->0
//# expect resized raw_tp/st#1 field_byte_offset patch 2->4
//# expect resized raw_tp/st#2 field_byte_offset patch 4->8
//# expect resized raw_tp/st#3 field_byte_offset patch 8->16
//# expect resized raw_tp/ldsx#0 field_byte_offset poison
//# expect resized raw_tp/ldsx#1 field_byte_offset patch 20->32
//# expect gone raw_tp/st#0 field_byte_offset poison
//# expect gone raw_tp/st#1 field_byte_offset poison
//# expect gone raw_tp/st#2 field_byte_offset poison
//# expect gone raw_tp/st#3 field_byte_offset poison
//# expect gone raw_tp/ldsx#0 field_byte_offset poison
//# expect gone raw_tp/ldsx#1 field_byte_offset poison
// ST (store of an immediate) and sign-extending loads, which clang emits for -mcpu=v4 only.
#include "core.h"

struct insns_v4 {
	u8 b;
	u16 h;
	u32 w;
	u64 dw;
	s32 sw;
	s16 sh;
} CORE;

PROG(st)(struct insns_v4 *p)
{
	p->b = 1;
	HIDE(p);
	p->h = 2;
	HIDE(p);
	p->w = 3;
	HIDE(p);
	p->dw = 4;
	return 0;
}

PROG(ldsx)(struct insns_v4 *p)
{
	USE((s64)p->sw);
	USE((s64)p->sh);
	return 0;
}
