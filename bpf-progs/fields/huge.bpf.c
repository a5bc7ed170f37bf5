//# target: sixteen struct
//# expect sixteen raw_tp/size#0 field_byte_size patch 8->16
//# expect sixteen raw_tp/size#1 field_byte_offset patch 8->0
//# expect sixteen raw_tp/load#0 field_byte_offset error
//# expect struct raw_tp/size#0 field_byte_size poison
//# expect struct raw_tp/size#1 field_byte_offset poison
//# expect struct raw_tp/load#0 field_byte_offset poison
// A field that no load can read: an integer of 16 bytes is an error, a struct in the place of an integer a poison.
#include "core.h"

struct huge {
	u64 pad;
	u64 value;
} CORE;

PROG(size)(struct huge *p)
{
	USE(field_size(p->value));
	USE(&p->value);
	return 0;
}

PROG(load)(struct huge *p)
{
	USE(p->value);
	return 0;
}
