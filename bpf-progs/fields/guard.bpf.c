//# target: old new neither
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
