//# target: same changed removed to64 notenum
//# expect same raw_tp/exists#0 enumval_exists keep 1->1
//# expect same raw_tp/exists#1 enumval_exists keep 1->1
//# expect same raw_tp/exists#2 enumval_exists keep 1->1
//# expect same raw_tp/exists#3 enumval_exists keep 1->1
//# expect same raw_tp/value#0 enumval_value keep 1->1
//# expect same raw_tp/value#1 enumval_value keep 5->5
//# expect same raw_tp/value#2 enumval_value keep -1->-1
//# expect same raw_tp/value#3 enumval_value keep 2147483647->2147483647
//# expect changed raw_tp/exists#0 enumval_exists keep 1->1
//# expect changed raw_tp/exists#1 enumval_exists keep 1->1
//# expect changed raw_tp/exists#2 enumval_exists keep 1->1
//# expect changed raw_tp/exists#3 enumval_exists keep 1->1
//# expect changed raw_tp/value#0 enumval_value patch 1->11
//# expect changed raw_tp/value#1 enumval_value patch 5->-5
//# expect changed raw_tp/value#2 enumval_value patch -1->255
//# expect changed raw_tp/value#3 enumval_value patch 2147483647->0
//# expect removed raw_tp/exists#0 enumval_exists keep 1->1
//# expect removed raw_tp/exists#1 enumval_exists patch 1->0
//# expect removed raw_tp/exists#2 enumval_exists patch 1->0
//# expect removed raw_tp/exists#3 enumval_exists patch 1->0
//# expect removed raw_tp/value#0 enumval_value keep 1->1
//# expect removed raw_tp/value#1 enumval_value poison
//# expect removed raw_tp/value#2 enumval_value poison
//# expect removed raw_tp/value#3 enumval_value poison
//# expect to64 raw_tp/exists#0 enumval_exists keep 1->1
//# expect to64 raw_tp/exists#1 enumval_exists keep 1->1
//# expect to64 raw_tp/exists#2 enumval_exists keep 1->1
//# expect to64 raw_tp/exists#3 enumval_exists keep 1->1
//# expect to64 raw_tp/value#0 enumval_value keep 1->1
//# expect to64 raw_tp/value#1 enumval_value patch 5->21474836485
//# expect to64 raw_tp/value#2 enumval_value patch -1->-4294967297
//# expect to64 raw_tp/value#3 enumval_value patch 2147483647->9223372036854775807
//# expect notenum raw_tp/exists#0 enumval_exists patch 1->0
//# expect notenum raw_tp/exists#1 enumval_exists patch 1->0
//# expect notenum raw_tp/exists#2 enumval_exists patch 1->0
//# expect notenum raw_tp/exists#3 enumval_exists patch 1->0
//# expect notenum raw_tp/value#0 enumval_value poison
//# expect notenum raw_tp/value#1 enumval_value poison
//# expect notenum raw_tp/value#2 enumval_value poison
//# expect notenum raw_tp/value#3 enumval_value poison
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
