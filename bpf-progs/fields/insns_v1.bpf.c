//# cflags: -mcpu=v1
//# target: moved gone
//# expect moved raw_tp/ldx#0 field_byte_offset patch 0->23
//# expect moved raw_tp/ldx#1 field_byte_offset patch 1->22
//# expect moved raw_tp/ldx#2 field_byte_offset patch 2->20
//# expect moved raw_tp/ldx#3 field_byte_offset patch 4->16
//# expect moved raw_tp/ldx#4 field_byte_offset keep 8->8
//# expect moved raw_tp/stx#0 field_byte_offset patch 0->23
//# expect moved raw_tp/stx#1 field_byte_offset patch 2->20
//# expect moved raw_tp/stx#2 field_byte_offset patch 4->16
//# expect moved raw_tp/stx#3 field_byte_offset keep 8->8
//# expect moved raw_tp/alu#0 field_byte_offset patch 4->16
//# expect moved raw_tp/alu#1 field_byte_offset patch 2->20
//# expect moved raw_tp/alu#2 field_byte_size keep 4->4
//# expect gone raw_tp/ldx#0 field_byte_offset poison
//# expect gone raw_tp/ldx#1 field_byte_offset poison
//# expect gone raw_tp/ldx#2 field_byte_offset poison
//# expect gone raw_tp/ldx#3 field_byte_offset poison
//# expect gone raw_tp/ldx#4 field_byte_offset poison
//# expect gone raw_tp/stx#0 field_byte_offset poison
//# expect gone raw_tp/stx#1 field_byte_offset poison
//# expect gone raw_tp/stx#2 field_byte_offset poison
//# expect gone raw_tp/stx#3 field_byte_offset poison
//# expect gone raw_tp/alu#0 field_byte_offset poison
//# expect gone raw_tp/alu#1 field_byte_offset poison
//# expect gone raw_tp/alu#2 field_byte_size poison
// As insns.bpf.c, for the first instruction set: no 32-bit registers.
#include "core.h"

struct insns_v1 {
	u8 b;
	s8 sb;
	u16 h;
	u32 w;
	u64 dw;
} CORE;

PROG(ldx)(struct insns_v1 *p)
{
	USE(p->b);
	USE(p->sb);
	USE(p->h);
	USE(p->w);
	USE(p->dw);
	return 0;
}

PROG(stx)(struct insns_v1 *p, u64 x)
{
	HIDE(x);
	p->b = x;
	HIDE(p);
	p->h = x;
	HIDE(p);
	p->w = x;
	HIDE(p);
	p->dw = x;
	return 0;
}

PROG(alu)(struct insns_v1 *p)
{
	USE(&p->w);
	USE(field_offset(p->h));
	USE(field_size(p->w));
	return 0;
}
