//# target: same chain named
//# expect same raw_tp/named#0 field_byte_offset keep 4->4
//# expect same raw_tp/anonymous#0 field_byte_offset keep 4->4
//# expect same raw_tp/anonymous#1 field_byte_offset keep 8->8
//# expect same raw_tp/anonymous#2 field_byte_offset keep 4->4
//# expect chain raw_tp/named#0 field_byte_offset patch 4->8
//# expect chain raw_tp/anonymous#0 field_byte_offset patch 4->8
//# expect chain raw_tp/anonymous#1 field_byte_offset patch 8->24
//# expect chain raw_tp/anonymous#2 field_byte_offset patch 4->8
//# expect named raw_tp/named#0 field_byte_offset poison
//# expect named raw_tp/anonymous#0 field_byte_offset poison
//# expect named raw_tp/anonymous#1 field_byte_offset poison
//# expect named raw_tp/anonymous#2 field_byte_offset poison
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
