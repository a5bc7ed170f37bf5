// The program's own layout.
#include "target.h"

struct flex {
	u32 count;
	u32 tail[];
};
KEEP(struct flex);

union flexu {
	u32 first;
	u32 tail[0];
};
KEEP(union flexu);
