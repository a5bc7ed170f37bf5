// A struct of the name without the fields.
#include "target.h"

struct reads {
	u32 other;
};
KEEP(struct reads);
