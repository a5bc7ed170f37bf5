//# target: first second
//# expect first raw_tp/plain#0 enumval_value patch 1->7
//# expect first raw_tp/v2#0 enumval_exists patch 1->0
//# expect first raw_tp/v2#1 enumval_value patch 20->7
//# expect first raw_tp/v2#2 enumval_value poison
//# expect first raw_tp/typedefs#0 enumval_exists keep 1->1
//# expect first raw_tp/typedefs#1 enumval_value patch 4->5
//# expect second raw_tp/plain#0 enumval_value keep 1->1
//# expect second raw_tp/v2#0 enumval_exists keep 1->1
//# expect second raw_tp/v2#1 enumval_value patch 20->1
//# expect second raw_tp/v2#2 enumval_value patch 30->2
//# expect second raw_tp/typedefs#0 enumval_exists patch 1->0
//# expect second raw_tp/typedefs#1 enumval_value poison
// Enums by flavour: `enum mode___v2` is looked for as `enum mode`, `M_ON___v2` as `M_ON`; typedefs of enums by their own name.
#include "core.h"

enum mode { M_OFF, M_ON = 1 };
enum mode___v2 { M_OFF___v2 = 10, M_ON___v2 = 20, M_IDLE___v2 = 30 };
typedef enum { T_A = 4 } tmode_t;

PROG(plain)(void *ctx)
{
	USE(enumval_value(enum mode, M_ON));
	return 0;
}

PROG(v2)(void *ctx)
{
	USE(enumval_exists(enum mode___v2, M_IDLE___v2));
	USE(enumval_value(enum mode___v2, M_ON___v2));
	USE(enumval_value(enum mode___v2, M_IDLE___v2));
	return 0;
}

PROG(typedefs)(void *ctx)
{
	USE(enumval_exists(tmode_t, T_A));
	USE(enumval_value(tmode_t, T_A));
	return 0;
}
