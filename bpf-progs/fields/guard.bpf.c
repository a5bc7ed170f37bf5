//# target: old new neither
//# expect old raw_tp/guard#0 field_exists patch 1->0
//# expect old raw_tp/guard#1 field_byte_offset poison
//# expect old raw_tp/guard#2 field_exists keep 1->1
//# expect old raw_tp/guard#3 field_byte_offset patch 0->8
//# expect new raw_tp/guard#0 field_exists keep 1->1
//# expect new raw_tp/guard#1 field_byte_offset patch 0->8
//# expect new raw_tp/guard#2 field_exists patch 1->0
//# expect new raw_tp/guard#3 field_byte_offset poison
//# expect neither raw_tp/guard#0 field_exists patch 1->0
//# expect neither raw_tp/guard#1 field_byte_offset poison
//# expect neither raw_tp/guard#2 field_exists patch 1->0
//# expect neither raw_tp/guard#3 field_byte_offset poison
// The usual way round a renamed field: ask, then read; the other reading is poisoned and never runs.
#include "core.h"

struct guard {
	u32 __state;
} CORE;

struct guard___old {
	u64 state;
} CORE;

PROG(guard)(struct guard *p)
{
	u64 state = 0;

	if (field_exists(p->__state))
		state = p->__state;
	else if (field_exists(((struct guard___old *)p)->state))
		state = ((struct guard___old *)p)->state;
	return state;
}
