//# target: fits toowide
// A 64-bit bitfield that no single 8-byte load covers is an error, except for those who ask only if it is there.
#include "core.h"

struct toowide {
	u64 field : 60;
};

PROG(exists)(struct toowide *p)
{
	USE(field_exists(p->field));
	return 0;
}

PROG(offset)(struct toowide *p)
{
	USE(field_offset(p->field));
	return 0;
}

PROG(size)(struct toowide *p)
{
	USE(field_size(p->field));
	return 0;
}

PROG(rshift)(struct toowide *p)
{
	USE(field_rshift(p->field));
	return 0;
}
