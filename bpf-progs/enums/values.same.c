// The program's own enumerators.
#include "target.h"

enum code { CODE_ONE = 1, CODE_FIVE = 5, CODE_MINUS = -1, CODE_MAX = 0x7fffffff };
KEEP(enum code);
