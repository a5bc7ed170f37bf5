//# target: same moved shorter wider narrower scalar
//# expect same raw_tp/load#0 field_byte_offset keep 12->12
//# expect same raw_tp/load#1 field_byte_offset keep 48->48
//# expect same raw_tp/load#2 field_byte_offset keep 75->75
//# expect same raw_tp/load#3 field_byte_offset keep 4->4
//# expect same raw_tp/address#0 field_byte_offset keep 4->4
//# expect same raw_tp/address#1 field_byte_offset keep 75->75
//# expect same raw_tp/address#2 field_byte_size keep 16->16
//# expect same raw_tp/address#3 field_byte_size keep 4->4
//# expect same raw_tp/address#4 field_byte_size keep 3->3
//# expect same raw_tp/address#5 field_exists keep 1->1
//# expect same raw_tp/address#6 field_exists keep 1->1
//# expect same raw_tp/root#0 field_byte_offset keep 0->0
//# expect same raw_tp/root#1 field_byte_offset keep 160->160
//# expect same raw_tp/root#2 field_byte_offset keep 88->88
//# expect moved raw_tp/load#0 field_byte_offset patch 12->44
//# expect moved raw_tp/load#1 field_byte_offset patch 48->104
//# expect moved raw_tp/load#2 field_byte_offset patch 75->15
//# expect moved raw_tp/load#3 field_byte_offset patch 4->36
//# expect moved raw_tp/address#0 field_byte_offset patch 4->36
//# expect moved raw_tp/address#1 field_byte_offset patch 75->15
//# expect moved raw_tp/address#2 field_byte_size patch 16->32
//# expect moved raw_tp/address#3 field_byte_size keep 4->4
//# expect moved raw_tp/address#4 field_byte_size patch 3->7
//# expect moved raw_tp/address#5 field_exists keep 1->1
//# expect moved raw_tp/address#6 field_exists keep 1->1
//# expect moved raw_tp/root#0 field_byte_offset patch 0->68
//# expect moved raw_tp/root#1 field_byte_offset patch 160->788
//# expect moved raw_tp/root#2 field_byte_offset patch 88->400
//# expect shorter raw_tp/load#0 field_byte_offset poison
//# expect shorter raw_tp/load#1 field_byte_offset poison
//# expect shorter raw_tp/load#2 field_byte_offset patch 75->34
//# expect shorter raw_tp/load#3 field_byte_offset keep 4->4
//# expect shorter raw_tp/address#0 field_byte_offset keep 4->4
//# expect shorter raw_tp/address#1 field_byte_offset patch 75->34
//# expect shorter raw_tp/address#2 field_byte_size patch 16->8
//# expect shorter raw_tp/address#3 field_byte_size keep 4->4
//# expect shorter raw_tp/address#4 field_byte_size patch 3->2
//# expect shorter raw_tp/address#5 field_exists patch 1->0
//# expect shorter raw_tp/address#6 field_exists patch 1->0
//# expect shorter raw_tp/root#0 field_byte_offset keep 0->0
//# expect shorter raw_tp/root#1 field_byte_offset patch 160->80
//# expect shorter raw_tp/root#2 field_byte_offset patch 88->48
//# expect wider raw_tp/load#0 field_byte_offset patch 12->24
//# expect wider raw_tp/load#1 field_byte_offset patch 48->52
//# expect wider raw_tp/load#2 field_byte_offset patch 75->70
//# expect wider raw_tp/load#3 field_byte_offset patch 4->8
//# expect wider raw_tp/address#0 field_byte_offset patch 4->8
//# expect wider raw_tp/address#1 field_byte_offset patch 75->70
//# expect wider raw_tp/address#2 field_byte_size patch 16->32
//# expect wider raw_tp/address#3 field_byte_size patch 4->8
//# expect wider raw_tp/address#4 field_byte_size patch 3->6
//# expect wider raw_tp/address#5 field_exists keep 1->1
//# expect wider raw_tp/address#6 field_exists keep 1->1
//# expect wider raw_tp/root#0 field_byte_offset keep 0->0
//# expect wider raw_tp/root#1 field_byte_offset keep 160->160
//# expect wider raw_tp/root#2 field_byte_offset patch 88->96
//# expect narrower raw_tp/load#0 field_byte_offset poison
//# expect narrower raw_tp/load#1 field_byte_offset poison
//# expect narrower raw_tp/load#2 field_byte_offset poison
//# expect narrower raw_tp/load#3 field_byte_offset poison
//# expect narrower raw_tp/address#0 field_byte_offset keep 4->4
//# expect narrower raw_tp/address#1 field_byte_offset poison
//# expect narrower raw_tp/address#2 field_byte_size patch 16->8
//# expect narrower raw_tp/address#3 field_byte_size patch 4->2
//# expect narrower raw_tp/address#4 field_byte_size poison
//# expect narrower raw_tp/address#5 field_exists keep 1->1
//# expect narrower raw_tp/address#6 field_exists keep 1->1
//# expect narrower raw_tp/root#0 field_byte_offset keep 0->0
//# expect narrower raw_tp/root#1 field_byte_offset patch 160->88
//# expect narrower raw_tp/root#2 field_byte_offset poison
//# expect scalar raw_tp/load#0 field_byte_offset poison
//# expect scalar raw_tp/load#1 field_byte_offset poison
//# expect scalar raw_tp/load#2 field_byte_offset poison
//# expect scalar raw_tp/load#3 field_byte_offset poison
//# expect scalar raw_tp/address#0 field_byte_offset poison
//# expect scalar raw_tp/address#1 field_byte_offset poison
//# expect scalar raw_tp/address#2 field_byte_size poison
//# expect scalar raw_tp/address#3 field_byte_size poison
//# expect scalar raw_tp/address#4 field_byte_size poison
//# expect scalar raw_tp/address#5 field_exists patch 1->0
//# expect scalar raw_tp/address#6 field_exists patch 1->0
//# expect scalar raw_tp/root#0 field_byte_offset keep 0->0
//# expect scalar raw_tp/root#1 field_byte_offset patch 160->64
//# expect scalar raw_tp/root#2 field_byte_offset poison
// Elements by constant index: of a member, of a member of an element, of two dimensions, of the root pointer itself.
#include "core.h"

struct cell {
	u32 key;
	u64 value;
} CORE;

struct index {
	u32 pad;
	u32 v[4];
	struct cell cells[3];
	u8 m[2][3];
} CORE;

PROG(load)(struct index *p)
{
	USE(p->v[2]);
	USE(p->cells[1].value);
	USE(p->m[1][2]);
	USE(p->v[0]);
	return 0;
}

PROG(address)(struct index *p)
{
	USE(&p->v);
	HIDE(p);
	USE(&p->m[1]);
	HIDE(p);
	USE(field_size(p->v));
	USE(field_size(p->v[1]));
	USE(field_size(p->m[1]));
	USE(field_exists(p->v[3]));
	USE(field_exists(p->cells[2]));
	return 0;
}

PROG(root)(struct index *p)
{
	USE(p[0].pad);
	USE(p[2].pad);
	USE(p[1].v[1]);
	return 0;
}
