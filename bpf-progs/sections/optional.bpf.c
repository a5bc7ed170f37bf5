//# target: moved
//# expect moved ?raw_tp/optional#0 field_byte_offset patch 0->8
//# expect moved ?raw_tp/optional#1 field_byte_offset patch 4->12
//# expect moved raw_tp/always#0 field_byte_offset patch 4->12
// A program that is not loaded unless asked for (`?`): its records are there and counted.
#include "core.h"

struct item {
	u32 a;
	u32 b;
} CORE;

SEC("?raw_tp/optional") int optional(struct item *p)
{
	USE(p->a);
	USE(p->b);
	return 1;
}

SEC("raw_tp/always") int always(struct item *p)
{
	USE(p->b);
	return 2;
}
