// The program's own values, with one more above 0x80000000.
#include "target.h"

enum high { HIGH_MIN = 0x80000000, HIGH_MAX = 0xffffffff, HIGH_LOW = 1 };
KEEP(enum high);
