//# target: same chain named
// Fields reached through typedefs: of a named struct, of an anonymous one, and members whose type is a chain of typedefs.
#include "core.h"

typedef u32 first_t;
typedef const first_t second_t;
typedef volatile second_t third_t;

typedef struct anon {
	u32 pad;
	third_t chained;
} CORE named_t;

typedef struct {
	u32 pad;
	u32 x;
	struct {
		first_t y;
	} sub;
} CORE anon_t;

PROG(named)(named_t *p)
{
	USE(p->chained);
	return 0;
}

PROG(anonymous)(anon_t *p)
{
	USE(field_offset(p->x));
	USE(field_offset(p->sub.y));
	USE(p->x);
	return 0;
}
