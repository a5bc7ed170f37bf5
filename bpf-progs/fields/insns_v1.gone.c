// A struct of that name without any of the fields.
#include "target.h"

struct insns_v1 {
	u64 other;
};
KEEP(struct insns_v1);
