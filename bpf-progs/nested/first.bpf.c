//# target: shadow
//# expect shadow raw_tp/load#0 field_byte_offset poison
//# expect shadow raw_tp/load#1 field_byte_offset poison
//# expect shadow raw_tp/load#2 field_byte_offset patch 0->16
// The first member of the name decides, also if a later one would fit.
#include "core.h"

struct first {
	u32 pad;
	u32 field;
	struct {
		u32 inner;
	} sub;
} CORE;

PROG(load)(struct first *p)
{
	USE(p->field);
	USE(p->sub.inner);
	USE(p->pad);
	return 0;
}
