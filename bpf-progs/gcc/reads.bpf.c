//# requires: clang>=14, gcc>=12
//# target: moved gone
//# expect moved raw_tp/b#0 field_byte_offset patch 8->88
//# expect moved raw_tp/e#0 field_byte_offset patch 16->80
//# expect moved raw_tp/element#0 field_byte_offset patch 48->72
//# expect moved raw_tp/inner#0 field_byte_offset patch 80->24
//# expect moved raw_tp/chase#0 field_byte_offset patch 88->0
//# expect moved raw_tp/chase#1 field_byte_offset patch 8->16
//# expect moved raw_tp/store#0 field_byte_offset patch 0->84
//# expect moved raw_tp/store#1 field_byte_offset patch 8->88
//# expect gone raw_tp/b#0 field_byte_offset poison
//# expect gone raw_tp/e#0 field_byte_offset poison
//# expect gone raw_tp/element#0 field_byte_offset poison
//# expect gone raw_tp/inner#0 field_byte_offset poison
//# expect gone raw_tp/chase#0 field_byte_offset poison
//# expect gone raw_tp/chase#1 field_byte_offset poison
//# expect gone raw_tp/store#0 field_byte_offset poison
//# expect gone raw_tp/store#1 field_byte_offset poison
// The accesses for which GCC 12 writes records at all: full-width reads and stores of constants through marked types.
#include "core.h"

struct cell {
	u32 key;
	u64 value;
} CORE;

struct reads {
	u32 a;
	u64 b;
	s32 e;
	struct cell cells[3];
	struct cell one;
	struct cell *ptr;
} CORE;

SEC("raw_tp/b") u64 b(struct reads *p) { return p->b; }
SEC("raw_tp/e") int e(struct reads *p) { return p->e; }
SEC("raw_tp/element") u64 element(struct reads *p) { return p->cells[1].value; }
SEC("raw_tp/inner") u64 inner(struct reads *p) { return p->one.value; }
SEC("raw_tp/chase") u64 chase(struct reads *p) { return p->ptr->value; }
SEC("raw_tp/store") int store(struct reads *p)
{
	p->a = 1;
	HIDE(p);
	p->b = 2;
	return 0;
}
