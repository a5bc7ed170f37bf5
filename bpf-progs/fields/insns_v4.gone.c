// A struct of that name without any of the fields.
#include "target.h"

struct insns_v4 {
	u64 other;
};
KEEP(struct insns_v4);
