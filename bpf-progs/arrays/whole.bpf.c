//# target: same wider
//# expect same raw_tp/load#0 field_byte_offset patch 4->8
//# expect wider raw_tp/load#0 field_byte_offset poison
// An array member read through its own address, without an index: its elements may move, not change their size.
#include "core.h"

struct whole {
	u32 pad;
	u32 v[4];
} CORE;

PROG(load)(struct whole *p)
{
	USE(*p->v);
	return 0;
}
