// Both alike where the program looks.
#include "target.h"

void one(void *);

void first(void)
{
	struct dup {
		u64 pad;
		u32 f;
	} v;
	enum dup_enum { DUP_A = 5 } e;

	one(&v);
	one(&e);
}

void second(void)
{
	struct dup {
		u64 other;
		u32 f;
	} v;
	enum dup_enum { DUP_A = 5, DUP_B } e;

	one(&v);
	one(&e);
}
