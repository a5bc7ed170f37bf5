//# target: fits toowide
//# expect fits raw_tp/exists#0 field_exists keep 1->1
//# expect fits raw_tp/offset#0 field_byte_offset keep 0->0
//# expect fits raw_tp/size#0 field_byte_size keep 8->8
//# expect fits raw_tp/rshift#0 field_rshift_u64 keep 4->4
//# expect toowide raw_tp/exists#0 field_exists keep 1->1
//# expect toowide raw_tp/offset#0 field_byte_offset error
//# expect toowide raw_tp/size#0 field_byte_size error
//# expect toowide raw_tp/rshift#0 field_rshift_u64 error
// A 64-bit bitfield that no single 8-byte load covers is an error, except for those who ask only if it is there.
#include "core.h"

struct toowide {
	u64 field : 60;
};

PROG(exists)(struct toowide *p)
{
	USE(field_exists(p->field));
	return 0;
}

PROG(offset)(struct toowide *p)
{
	USE(field_offset(p->field));
	return 0;
}

PROG(size)(struct toowide *p)
{
	USE(field_size(p->field));
	return 0;
}

PROG(rshift)(struct toowide *p)
{
	USE(field_rshift(p->field));
	return 0;
}
