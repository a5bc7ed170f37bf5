// `d` and `e` are gone.
#include "target.h"

struct basic {
	u32 a;
	u64 b;
	u16 c;
};
KEEP(struct basic);
