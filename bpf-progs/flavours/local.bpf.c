//# target: old new
//# expect old raw_tp/task#0 field_byte_offset poison
//# expect old raw_tp/task#1 field_byte_offset patch 0->8
//# expect old raw_tp/names#0 field_byte_offset poison
//# expect old raw_tp/names#1 field_byte_offset poison
//# expect old raw_tp/names#2 field_byte_offset poison
//# expect old raw_tp/names#3 field_byte_offset poison
//# expect new raw_tp/task#0 field_byte_offset patch 0->8
//# expect new raw_tp/task#1 field_byte_offset poison
//# expect new raw_tp/names#0 field_byte_offset patch 0->8
//# expect new raw_tp/names#1 field_byte_offset patch 0->8
//# expect new raw_tp/names#2 field_byte_offset patch 0->8
//# expect new raw_tp/names#3 field_byte_offset patch 0->8
// Local flavours: the suffix behind the last `___` is not part of the name, in all the forms names can have.
#include "core.h"

struct task {
	u32 __state;
} CORE;
struct task___old {
	u64 state;
} CORE;
struct a___b___v1 {
	u32 f;
} CORE;
struct ___plain {
	u32 f;
} CORE;
struct plain___ {
	u32 f;
} CORE;
struct four____v1 {
	u32 f;
} CORE;

PROG(task)(struct task *p)
{
	USE(p->__state);
	USE(((struct task___old *)p)->state);
	return 0;
}

PROG(names)(struct task *p)
{
	USE(((struct a___b___v1 *)p)->f);
	HIDE(p);
	USE(((struct ___plain *)p)->f);
	HIDE(p);
	USE(((struct plain___ *)p)->f);
	HIDE(p);
	USE(((struct four____v1 *)p)->f);
	return 0;
}
