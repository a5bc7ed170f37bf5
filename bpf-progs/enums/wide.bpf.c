//# requires: clang>=16
//# target: same changed to32 removed
// Enumerators of a 64-bit enum.
#include "core.h"

enum wide { WIDE_ONE = 1, WIDE_BIG = 0x100000002, WIDE_TOP = 0xffffffff00000000 };
enum wides { WIDES_MINUS = -1, WIDES_FAR = -0x100000001 };

PROG(exists)(void *ctx)
{
	USE(enumval_exists(enum wide, WIDE_ONE));
	USE(enumval_exists(enum wide, WIDE_BIG));
	USE(enumval_exists(enum wides, WIDES_FAR));
	return 0;
}

PROG(value)(void *ctx)
{
	USE(enumval_value(enum wide, WIDE_ONE));
	USE(enumval_value(enum wide, WIDE_BIG));
	USE(enumval_value(enum wide, WIDE_TOP));
	USE(enumval_value(enum wides, WIDES_MINUS));
	USE(enumval_value(enum wides, WIDES_FAR));
	return 0;
}
