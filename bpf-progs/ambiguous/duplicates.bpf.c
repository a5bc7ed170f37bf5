//# target: alike apart width partly
//# expect alike raw_tp/load#0 field_byte_offset patch 4->8
//# expect alike raw_tp/exists#0 field_exists keep 1->1
//# expect alike raw_tp/type#0 type_exists keep 1->1
//# expect alike raw_tp/value#0 enumval_value patch 1->5
//# expect alike raw_tp/size#0 type_size patch 8->16
//# expect alike raw_tp/target_id#0 type_id_target error
//# expect apart raw_tp/load#0 field_byte_offset error
//# expect apart raw_tp/exists#0 field_exists error
//# expect apart raw_tp/type#0 type_exists keep 1->1
//# expect apart raw_tp/value#0 enumval_value error
//# expect apart raw_tp/size#0 type_size error
//# expect apart raw_tp/target_id#0 type_id_target error
//# expect width raw_tp/load#0 field_byte_offset patch 4->8
//# expect width raw_tp/exists#0 field_exists keep 1->1
//# expect width raw_tp/type#0 type_exists keep 1->1
//# expect width raw_tp/value#0 enumval_value patch 1->5
//# expect width raw_tp/size#0 type_size patch 8->16
//# expect width raw_tp/target_id#0 type_id_target error
//# expect partly raw_tp/load#0 field_byte_offset patch 4->8
//# expect partly raw_tp/exists#0 field_exists keep 1->1
//# expect partly raw_tp/type#0 type_exists keep 1->1
//# expect partly raw_tp/value#0 enumval_value patch 1->5
//# expect partly raw_tp/size#0 type_size patch 8->12
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
