// After the renaming.
#include "target.h"

struct guard {
	u64 flags;
	u32 __state;
};
KEEP(struct guard);
