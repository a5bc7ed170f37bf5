// Renamed once more, to a name the program does not know.
#include "target.h"

struct guard {
	u64 flags;
	u32 condition;
};
KEEP(struct guard);
