//# target: same moved renamed removed retyped gone union
//# expect same raw_tp/load#0 field_byte_offset keep 0->0
//# expect same raw_tp/load#1 field_byte_offset keep 8->8
//# expect same raw_tp/load#2 field_byte_offset keep 16->16
//# expect same raw_tp/load#3 field_byte_offset keep 18->18
//# expect same raw_tp/load#4 field_byte_offset keep 20->20
//# expect moved raw_tp/load#0 field_byte_offset patch 0->12
//# expect moved raw_tp/load#1 field_byte_offset patch 8->24
//# expect moved raw_tp/load#2 field_byte_offset patch 16->10
//# expect moved raw_tp/load#3 field_byte_offset patch 18->8
//# expect moved raw_tp/load#4 field_byte_offset patch 20->16
//# expect renamed raw_tp/load#0 field_byte_offset keep 0->0
//# expect renamed raw_tp/load#1 field_byte_offset poison
//# expect renamed raw_tp/load#2 field_byte_offset keep 16->16
//# expect renamed raw_tp/load#3 field_byte_offset keep 18->18
//# expect renamed raw_tp/load#4 field_byte_offset keep 20->20
//# expect removed raw_tp/load#0 field_byte_offset keep 0->0
//# expect removed raw_tp/load#1 field_byte_offset keep 8->8
//# expect removed raw_tp/load#2 field_byte_offset keep 16->16
//# expect removed raw_tp/load#3 field_byte_offset poison
//# expect removed raw_tp/load#4 field_byte_offset poison
//# expect retyped raw_tp/load#0 field_byte_offset poison
//# expect retyped raw_tp/load#1 field_byte_offset poison
//# expect retyped raw_tp/load#2 field_byte_offset poison
//# expect retyped raw_tp/load#3 field_byte_offset patch 18->20
//# expect retyped raw_tp/load#4 field_byte_offset patch 20->24
//# expect gone raw_tp/load#0 field_byte_offset poison
//# expect gone raw_tp/load#1 field_byte_offset poison
//# expect gone raw_tp/load#2 field_byte_offset poison
//# expect gone raw_tp/load#3 field_byte_offset poison
//# expect gone raw_tp/load#4 field_byte_offset poison
//# expect union raw_tp/load#0 field_byte_offset poison
//# expect union raw_tp/load#1 field_byte_offset poison
//# expect union raw_tp/load#2 field_byte_offset poison
//# expect union raw_tp/load#3 field_byte_offset poison
//# expect union raw_tp/load#4 field_byte_offset poison
// Fields of one struct read one by one: the record everybody has.
#include "core.h"

struct basic {
	u32 a;
	u64 b;
	u16 c;
	u8 d;
	s32 e;
} CORE;

PROG(load)(struct basic *p)
{
	USE(p->a);
	USE(p->b);
	USE(p->c);
	USE(p->d);
	USE(p->e);
	return 0;
}
