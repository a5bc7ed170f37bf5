//# requires: clang>=15
// The enum needs 64 bits now (an ENUM64 where the compiler has them).
#include "target.h"

enum code { CODE_ONE = 1, CODE_FIVE = 0x500000005, CODE_MINUS = -0x100000001, CODE_MAX = 0x7fffffffffffffff };
KEEP(enum code);
