// Ends exactly with its unit.
#include "target.h"

struct toowide {
	u64 before : 4;
	u64 field : 60;
};
KEEP(struct toowide);
