// Other values of the same width.
#include "target.h"

enum wide { WIDE_ONE = 0x1000000000000001, WIDE_TOP, WIDE_BIG };
enum wides { WIDES_MINUS = -0x7fffffffffffffff, WIDES_FAR = 0x100000001 };
KEEP(enum wide);
KEEP(enum wides);
