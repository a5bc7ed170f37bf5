// The program's own enumerators.
#include "target.h"

enum wide { WIDE_ONE = 1, WIDE_BIG = 0x100000002, WIDE_TOP = 0xffffffff00000000 };
enum wides { WIDES_MINUS = -1, WIDES_FAR = -0x100000001 };
KEEP(enum wide);
KEEP(enum wides);
