// Another kind of type (struct, pointer, enum) is no match; typedefs and qualifiers are looked through.
#include "target.h"

enum small { SMALL = 1 };
typedef u8 octet;
typedef const octet flag;

struct basic {
	struct {
		u32 inner;
	} a;
	void *b;
	enum small c;
	volatile flag d;
	const volatile s32 e;
};
KEEP(struct basic);
