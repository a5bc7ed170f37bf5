//# target: same changed
//# expect same raw_tp/exists#0 type_exists keep 1->1
//# expect same raw_tp/exists#1 type_exists keep 1->1
//# expect same raw_tp/exists#2 type_exists keep 1->1
//# expect same raw_tp/exists#3 type_exists keep 1->1
//# expect same raw_tp/exists#4 type_exists keep 1->1
//# expect changed raw_tp/exists#0 type_exists patch 1->0
//# expect changed raw_tp/exists#1 type_exists patch 1->0
//# expect changed raw_tp/exists#2 type_exists patch 1->0
//# expect changed raw_tp/exists#3 type_exists patch 1->0
//# expect changed raw_tp/exists#4 type_exists patch 1->0
// Function types behind typedefs, pointed to and not: number and kinds of parameters count, and the result's.
#include "core.h"

struct arg {
	u32 a;
};
typedef int proto_t(struct arg *, int);
typedef int (*callback_t)(struct arg *, int);
typedef void (*nothing_t)(void);
typedef long (*nested_t)(int (*)(struct arg *), u64);
typedef int (*variadic_t)(const char *, ...);

PROG(exists)(void *ctx)
{
	USE(type_exists(proto_t));
	USE(type_exists(callback_t));
	USE(type_exists(nothing_t));
	USE(type_exists(nested_t));
	USE(type_exists(variadic_t));
	return 0;
}
