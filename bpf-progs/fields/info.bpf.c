//# target: same changed gone
// Everything that can be asked of a plain field, of each kind of type: offset, size, existence, sign, shifts.
#include "core.h"

enum mode { MODE_A, MODE_B };

struct inner {
	u32 x, y, z;
};

struct info {
	u32 num;
	s16 small;
	enum mode mode;
	void *ptr;
	struct inner inner;
	u64 array[5];
	u8 last;
};

PROG(offset)(struct info *p)
{
	USE(field_offset(p->num));
	USE(field_offset(p->small));
	USE(field_offset(p->mode));
	USE(field_offset(p->ptr));
	USE(field_offset(p->inner));
	USE(field_offset(p->inner.z));
	USE(field_offset(p->array));
	USE(field_offset(p->array[3]));
	return 0;
}

PROG(size)(struct info *p)
{
	USE(field_size(p->num));
	USE(field_size(p->small));
	USE(field_size(p->mode));
	USE(field_size(p->ptr));
	USE(field_size(p->inner));
	USE(field_size(p->inner.z));
	USE(field_size(p->array));
	USE(field_size(p->array[3]));
	return 0;
}

PROG(exists)(struct info *p)
{
	USE(field_exists(p->num));
	USE(field_exists(p->small));
	USE(field_exists(p->mode));
	USE(field_exists(p->ptr));
	USE(field_exists(p->inner));
	USE(field_exists(p->inner.z));
	USE(field_exists(p->array));
	USE(field_exists(p->last));
	return 0;
}

PROG(sign)(struct info *p)
{
	USE(field_signed(p->num));
	USE(field_signed(p->small));
	USE(field_signed(p->mode));
	return 0;
}

PROG(shifts)(struct info *p)
{
	USE(field_lshift(p->num));
	USE(field_rshift(p->num));
	USE(field_lshift(p->small));
	USE(field_rshift(p->small));
	USE(field_lshift(p->last));
	USE(field_rshift(p->last));
	return 0;
}
