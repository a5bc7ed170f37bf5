//# target: same
//# expect same raw_tp/after#0 field_byte_offset keep 4->4
//# expect same raw_tp/none#0 field_byte_offset error
// A local array without elements in the middle of a struct: the program's own access is already invalid.
#include "core.h"

struct middle {
	u32 count;
	u32 none[0];
	u32 after;
} CORE;

PROG(after)(struct middle *p)
{
	USE(p->after);
	return 0;
}

PROG(none)(struct middle *p)
{
	USE(p->none[1]);
	return 0;
}
