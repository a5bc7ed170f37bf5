// Three enumerators, in a flavour of the target's own; no typedef.
#include "target.h"

enum mode___new { M_OFF, M_ON, M_IDLE };
KEEP(enum mode___new);

enum tmode_t { T_A = 5 };
KEEP(enum tmode_t);
