//# target: alike apart width partly
// Two types of one name in the target. They must agree in the offset and the value; nobody compares the width.
#include "core.h"

struct dup {
	u32 pad;
	u32 f;
} CORE;
enum dup_enum { DUP_A = 1 };

PROG(load)(struct dup *p)
{
	USE(p->f);
	return 0;
}

PROG(exists)(struct dup *p)
{
	USE(field_exists(p->f));
	return 0;
}

PROG(type)(void *ctx)
{
	USE(type_exists(struct dup));
	return 0;
}

PROG(value)(void *ctx)
{
	USE(enumval_value(enum dup_enum, DUP_A));
	return 0;
}

PROG(size)(void *ctx)
{
	USE(type_size(struct dup));
	return 0;
}

PROG(target_id)(void *ctx)
{
	USE(type_id_target(struct dup));
	return 0;
}
