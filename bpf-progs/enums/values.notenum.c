// The name belongs to a struct, and the enumerators to another enum.
#include "target.h"

struct code {
	u32 v;
};
KEEP(struct code);

enum codes { CODE_ONE = 1, CODE_FIVE = 5, CODE_MINUS = -1, CODE_MAX = 0x7fffffff };
KEEP(enum codes);
