//# target: moved
//# expect moved raw_tp/shared#0 field_byte_offset patch 0->8
//# expect moved raw_tp/shared#1 field_byte_offset patch 4->12
//# expect moved raw_tp/shared#2 field_byte_offset patch 4->12
//# expect moved raw_tp/shared#3 field_byte_offset patch 0->8
// Several programs in one section: records count through the section, instructions too.
#include "core.h"

struct item {
	u32 a;
	u32 b;
} CORE;

SEC("raw_tp/shared") int one(struct item *p)
{
	USE(p->a);
	USE(p->b);
	return 1;
}

SEC("raw_tp/shared") int two(struct item *p)
{
	USE(p->b);
	return 2;
}

SEC("raw_tp/shared") int none(struct item *p)
{
	return 3;
}

SEC("raw_tp/shared") int three(struct item *p)
{
	USE(p->a);
	return 4;
}
