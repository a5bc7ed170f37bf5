//# target: same
//# expect same raw_tp/load#0 field_byte_offset patch 16->32
//# expect same raw_tp/load#1 field_byte_offset keep 12->12
//# expect same raw_tp/load#2 field_byte_offset error
// An index behind the end of a local array of fixed length is an error, whatever the target has.
#include "core.h"

struct beyond {
	u32 v[4];
	u32 after;
} CORE;

PROG(load)(struct beyond *p)
{
	USE(p->after);
	USE(p->v[3]);
	USE(p->v[4]);
	return 0;
}
