// The program's own layout.
#include "target.h"

struct middle {
	u32 count;
	u32 none[0];
	u32 after;
};
KEEP(struct middle);
