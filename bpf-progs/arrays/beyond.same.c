// A longer array.
#include "target.h"

struct beyond {
	u32 v[8];
	u32 after;
};
KEEP(struct beyond);
