// The same offset, another width.
#include "target.h"

void one(void *);

void first(void)
{
	static struct dup {
		u64 pad;
		u32 f;
	} v;
	static enum dup_enum { DUP_A = 5 } e;

	one(&v);
	one(&e);
}

void second(void)
{
	static struct dup {
		u64 pad;
		u64 f;
	} v;
	static enum dup_enum { DUP_A = 5 } e;

	one(&v);
	one(&e);
}
