// Every value differs, one changes its sign.
#include "target.h"

enum code { CODE_MAX, CODE_MINUS = 255, CODE_FIVE = -5, CODE_ONE = 11 };
KEEP(enum code);
