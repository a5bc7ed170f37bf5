// The program's own layout.
#include "target.h"

struct unit {
	u64 before;
	u32 first : 3;
	u32 second : 29;
	u8 tiny : 2;
};
KEEP(struct unit);
