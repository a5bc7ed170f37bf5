//# target: same
// Bitfields narrower than their struct's alignment: clang reads them by a wider unit than libbpf computes, so the
// instructions change even where nothing moved. What the local value is is for the documents; no lines here.
#include "core.h"

struct unit {
	u64 before;
	u32 first : 3;
	u32 second : 29;
	u8 tiny : 2;
};

PROG(unit)(struct unit *p)
{
	USE(field_offset(p->second));
	USE(field_size(p->second));
	USE(field_lshift(p->second));
	USE(field_rshift(p->second));
	USE(field_offset(p->tiny));
	USE(field_size(p->tiny));
	USE(field_lshift(p->tiny));
	USE(field_rshift(p->tiny));
	return 0;
}
