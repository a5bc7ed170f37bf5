// Eight bytes further.
#include "target.h"

struct item {
	u64 pad;
	u32 a;
	u32 b;
};
KEEP(struct item);
