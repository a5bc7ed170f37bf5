// The name is a union's: a root of another kind is no candidate.
#include "target.h"

union basic {
	u32 a;
	u64 b;
};
KEEP(union basic);
