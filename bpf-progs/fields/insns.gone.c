// A struct of that name without any of the fields.
#include "target.h"

struct insns {
	u64 other;
};
KEEP(struct insns);
