//# target: same moved shorter wider narrower scalar
// Elements by constant index: of a member, of a member of an element, of two dimensions, of the root pointer itself.
#include "core.h"

struct cell {
	u32 key;
	u64 value;
} CORE;

struct index {
	u32 pad;
	u32 v[4];
	struct cell cells[3];
	u8 m[2][3];
} CORE;

PROG(load)(struct index *p)
{
	USE(p->v[2]);
	USE(p->cells[1].value);
	USE(p->m[1][2]);
	USE(p->v[0]);
	return 0;
}

PROG(address)(struct index *p)
{
	USE(&p->v);
	HIDE(p);
	USE(&p->m[1]);
	HIDE(p);
	USE(field_size(p->v));
	USE(field_size(p->v[1]));
	USE(field_size(p->m[1]));
	USE(field_exists(p->v[3]));
	USE(field_exists(p->cells[2]));
	return 0;
}

PROG(root)(struct index *p)
{
	USE(p[0].pad);
	USE(p[2].pad);
	USE(p[1].v[1]);
	return 0;
}
