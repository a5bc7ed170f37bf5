// No elements, and not the last member: not flexible, so no index exists.
#include "target.h"

struct flex {
	u32 count;
	u32 tail[0];
	u32 after;
};
KEEP(struct flex);

union flexu {
	u32 tail[0];
	u32 first;
};
KEEP(union flexu);
