// All values below 0x80000000.
#include "target.h"

enum high { HIGH_MIN = 0x7fffffff, HIGH_MAX = 8, HIGH_LOW = 2 };
KEEP(enum high);
