//# target: two
//# expect two raw_tp/narrowed#0 field_byte_offset patch 0->8
//# expect two raw_tp/narrowed#1 field_byte_offset patch 4->12
//# expect two raw_tp/narrowed#2 field_exists keep 1->1
//# expect two raw_tp/again#0 field_byte_offset error
// Flavours in the target are candidates all the same. A record that some of them match strikes the others out for
// every later record of that local type: `prune.x` decides for `prune.y`, the second local type is asked anew.
#include "core.h"

struct prune {
	u32 x;
	u32 y;
} CORE;
struct prune___again {
	u32 x;
	u32 y;
} CORE;

PROG(narrowed)(struct prune *p)
{
	USE(p->x);
	USE(p->y);
	USE(field_exists(p->y));
	return 0;
}

PROG(again)(struct prune___again *p)
{
	USE(p->y);
	return 0;
}
