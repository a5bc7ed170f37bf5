// An array of four: only two of the indices exist.
#include "target.h"

struct flex {
	u32 count;
	u32 pad;
	u32 tail[4];
};
KEEP(struct flex);

union flexu {
	u32 tail[1];
	u32 first;
};
KEEP(union flexu);
