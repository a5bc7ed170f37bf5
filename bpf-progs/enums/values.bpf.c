//# target: same changed removed to64 notenum
// Enumerators of a 32-bit enum: is it there, and what is its value.
#include "core.h"

enum code { CODE_ONE = 1, CODE_FIVE = 5, CODE_MINUS = -1, CODE_MAX = 0x7fffffff };

PROG(exists)(void *ctx)
{
	USE(enumval_exists(enum code, CODE_ONE));
	USE(enumval_exists(enum code, CODE_FIVE));
	USE(enumval_exists(enum code, CODE_MINUS));
	USE(enumval_exists(enum code, CODE_MAX));
	return 0;
}

PROG(value)(void *ctx)
{
	USE(enumval_value(enum code, CODE_ONE));
	USE(enumval_value(enum code, CODE_FIVE));
	USE(enumval_value(enum code, CODE_MINUS));
	USE(enumval_value(enum code, CODE_MAX));
	return 0;
}
