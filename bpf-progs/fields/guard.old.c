// Before the renaming.
#include "target.h"

struct guard {
	u64 flags;
	u64 state;
};
KEEP(struct guard);
