//# target: fwd whole
//# expect fwd raw_tp/exists#0 type_exists keep 1->1
//# expect fwd raw_tp/exists#1 type_exists keep 1->1
//# expect fwd raw_tp/exists#2 type_exists keep 1->1
//# expect fwd raw_tp/size#0 type_size error
//# expect whole raw_tp/exists#0 type_exists patch 1->0
//# expect whole raw_tp/exists#1 type_exists patch 1->0
//# expect whole raw_tp/exists#2 type_exists patch 1->0
//# expect whole raw_tp/size#0 type_size error
// Types only declared: a forward declaration finds forward declarations, not the struct itself.
#include "core.h"

struct fwd_s;
union fwd_u;
typedef struct fwd_s fwd_t;

PROG(exists)(void *ctx)
{
	USE(type_exists(struct fwd_s));
	USE(type_exists(union fwd_u));
	USE(type_exists(fwd_t));
	return 0;
}

PROG(size)(void *ctx)
{
	USE(type_size(struct fwd_s));
	return 0;
}
