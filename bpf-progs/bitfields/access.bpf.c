//# target: same plain
//# expect same raw_tp/load#0 field_byte_offset patch 8->16
//# expect same raw_tp/load#1 field_byte_offset patch 4->12
//# expect plain raw_tp/load#0 field_byte_offset poison
//# expect plain raw_tp/load#1 field_byte_offset poison
// A bitfield read as C reads it: the load of its unit is relocated, and is poisoned where the target has no bitfield.
#include "core.h"

struct access {
	u32 pad;
	u32 low : 8;
	u32 high : 24;
	u32 plain;
} CORE;

PROG(load)(struct access *p)
{
	USE(p->plain);
	USE(p->low);
	return 0;
}
