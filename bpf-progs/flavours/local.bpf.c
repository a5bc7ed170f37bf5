//# target: old new
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
