// Different offsets, sizes and values.
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
		u64 pad[2];
		u32 f;
	} v;
	static enum dup_enum { DUP_A = 6 } e;

	one(&v);
	one(&e);
}
