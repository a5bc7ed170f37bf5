//# requires: clang>=15
//# target: same changed to32 removed
//# expect same raw_tp/exists#0 enumval_exists keep 1->1
//# expect same raw_tp/exists#1 enumval_exists keep 1->1
//# expect same raw_tp/exists#2 enumval_exists keep 1->1
//# expect same raw_tp/value#0 enumval_value keep 1->1
//# expect same raw_tp/value#1 enumval_value keep 4294967298->4294967298
//# expect same raw_tp/value#2 enumval_value keep 18446744069414584320->18446744069414584320
//# expect same raw_tp/value#3 enumval_value keep 18446744073709551615->18446744073709551615
//# expect same raw_tp/value#4 enumval_value keep 18446744069414584319->18446744069414584319
//# expect changed raw_tp/exists#0 enumval_exists keep 1->1
//# expect changed raw_tp/exists#1 enumval_exists keep 1->1
//# expect changed raw_tp/exists#2 enumval_exists keep 1->1
//# expect changed raw_tp/value#0 enumval_value patch 1->1152921504606846977
//# expect changed raw_tp/value#1 enumval_value patch 4294967298->1152921504606846979
//# expect changed raw_tp/value#2 enumval_value patch 18446744069414584320->1152921504606846978
//# expect changed raw_tp/value#3 enumval_value patch 18446744073709551615->9223372036854775809
//# expect changed raw_tp/value#4 enumval_value patch 18446744069414584319->4294967297
//# expect to32 raw_tp/exists#0 enumval_exists keep 1->1
//# expect to32 raw_tp/exists#1 enumval_exists keep 1->1
//# expect to32 raw_tp/exists#2 enumval_exists keep 1->1
//# expect to32 raw_tp/value#0 enumval_value patch 1->3
//# expect to32 raw_tp/value#1 enumval_value patch 4294967298->2147483647
//# expect to32 raw_tp/value#2 enumval_value patch 18446744069414584320->18446744073709551600
//# expect to32 raw_tp/value#3 enumval_value patch 18446744073709551615->18446744073709551614
//# expect to32 raw_tp/value#4 enumval_value patch 18446744069414584319->4
//# expect removed raw_tp/exists#0 enumval_exists keep 1->1
//# expect removed raw_tp/exists#1 enumval_exists patch 1->0
//# expect removed raw_tp/exists#2 enumval_exists patch 1->0
//# expect removed raw_tp/value#0 enumval_value keep 1->1
//# expect removed raw_tp/value#1 enumval_value poison
//# expect removed raw_tp/value#2 enumval_value poison
//# expect removed raw_tp/value#3 enumval_value keep 18446744073709551615->18446744073709551615
//# expect removed raw_tp/value#4 enumval_value poison
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
