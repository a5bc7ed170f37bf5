// Only the second has the field and the enumerator.
#include "target.h"

void one(void *);

void first(void)
{
	static struct dup {
		u64 pad;
		u32 g;
	} v;
	static enum dup_enum { DUP_B = 5 } e;

	one(&v);
	one(&e);
}

void second(void)
{
	static struct dup {
		u32 pad;
		u32 more;
		u32 f;
	} v;
	static enum dup_enum { DUP_A = 5 } e;

	one(&v);
	one(&e);
}
