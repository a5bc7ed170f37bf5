//# target: near far
//# expect near raw_tp/load#0 field_byte_offset keep 0->0
//# expect near raw_tp/load#1 field_byte_offset patch 1->32767
//# expect near raw_tp/address#0 field_byte_offset patch 1->32767
//# expect far raw_tp/load#0 field_byte_offset keep 0->0
//# expect far raw_tp/load#1 field_byte_offset error
//# expect far raw_tp/address#0 field_byte_offset patch 1->32768
// Offsets at the end of what an instruction's 16-bit offset can say: one more is an error, not a poison.
#include "core.h"

struct range {
	u8 first;
	u8 last;
} CORE;

PROG(load)(struct range *p)
{
	USE(p->first);
	USE(p->last);
	return 0;
}

PROG(address)(struct range *p)
{
	USE(&p->last);
	return 0;
}
