// None of the names.
#include "target.h"

struct something_else {
	u32 a;
};
KEEP(struct something_else);
