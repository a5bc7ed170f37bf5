//# target: same moved fixed middle
//# expect same raw_tp/load#0 field_byte_offset keep 4->4
//# expect same raw_tp/load#1 field_byte_offset keep 16->16
//# expect same raw_tp/load#2 field_byte_offset keep 404->404
//# expect same raw_tp/overlay#0 field_byte_offset keep 8->8
//# expect same raw_tp/overlay#1 field_byte_offset keep 0->0
//# expect moved raw_tp/load#0 field_byte_offset patch 4->16
//# expect moved raw_tp/load#1 field_byte_offset patch 16->28
//# expect moved raw_tp/load#2 field_byte_offset patch 404->416
//# expect moved raw_tp/overlay#0 field_byte_offset patch 8->16
//# expect moved raw_tp/overlay#1 field_byte_offset patch 0->0
//# expect fixed raw_tp/load#0 field_byte_offset patch 4->8
//# expect fixed raw_tp/load#1 field_byte_offset patch 16->20
//# expect fixed raw_tp/load#2 field_byte_offset poison
//# expect fixed raw_tp/overlay#0 field_byte_offset poison
//# expect fixed raw_tp/overlay#1 field_byte_offset keep 0->0
//# expect middle raw_tp/load#0 field_byte_offset poison
//# expect middle raw_tp/load#1 field_byte_offset poison
//# expect middle raw_tp/load#2 field_byte_offset poison
//# expect middle raw_tp/overlay#0 field_byte_offset poison
//# expect middle raw_tp/overlay#1 field_byte_offset keep 0->0
// A flexible array at the end of a struct, and one at the end of a union: any index will do.
#include "core.h"

struct flex {
	u32 count;
	u32 tail[];
} CORE;

union flexu {
	u32 first;
	u32 tail[0];
} CORE;

PROG(load)(struct flex *p)
{
	USE(p->tail[0]);
	USE(p->tail[3]);
	USE(p->tail[100]);
	return 0;
}

PROG(overlay)(union flexu *p)
{
	USE(p->tail[2]);
	USE(p->first);
	return 0;
}
