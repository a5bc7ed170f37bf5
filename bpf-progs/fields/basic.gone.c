// No struct of that name, only one that begins like it.
#include "target.h"

struct basics {
	u32 a;
	u64 b;
};
KEEP(struct basics);
