//# target: same low
//# expect same raw_tp/exists#0 enumval_exists keep 1->1
//# expect same raw_tp/exists#1 enumval_exists keep 1->1
//# expect same raw_tp/low#0 enumval_value keep 1->1
//# expect low raw_tp/exists#0 enumval_exists keep 1->1
//# expect low raw_tp/exists#1 enumval_exists keep 1->1
//# expect low raw_tp/low#0 enumval_value patch 1->2
// Unsigned 32-bit enumerators at and above 0x80000000, and one that is below in the program but not in the target.
// libbpf reads the value sign-extended, the instruction holds it zero-extended, so it refuses the first two:
// no line here says what we do, see the differences to libbpf in the documents.
#include "core.h"

enum high { HIGH_MIN = 0x80000000, HIGH_MAX = 0xffffffff, HIGH_LOW = 1 };

PROG(exists)(void *ctx)
{
	USE(enumval_exists(enum high, HIGH_MIN));
	USE(enumval_exists(enum high, HIGH_MAX));
	return 0;
}

PROG(low)(void *ctx)
{
	USE(enumval_value(enum high, HIGH_LOW));
	return 0;
}

PROG(value)(void *ctx)
{
	USE(enumval_value(enum high, HIGH_MIN));
	USE(enumval_value(enum high, HIGH_MAX));
	return 0;
}
