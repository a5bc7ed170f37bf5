// The enums fit into 32 bits: unsigned values keep their upper half clear only below 0x80000000.
#include "target.h"

enum wide { WIDE_ONE = 3, WIDE_BIG = 0x7fffffff, WIDE_TOP = 0xfffffff0 };
enum wides { WIDES_MINUS = -2, WIDES_FAR = 4 };
KEEP(enum wide);
KEEP(enum wides);
