// Both alike where the program looks.
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
		u64 other;
		u32 f;
	} v;
	static enum dup_enum { DUP_A = 5, DUP_B } e;

	one(&v);
	one(&e);
}
