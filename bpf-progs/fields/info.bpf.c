//# target: same changed gone
//# expect same raw_tp/offset#0 field_byte_offset keep 0->0
//# expect same raw_tp/offset#1 field_byte_offset keep 4->4
//# expect same raw_tp/offset#2 field_byte_offset keep 8->8
//# expect same raw_tp/offset#3 field_byte_offset keep 16->16
//# expect same raw_tp/offset#4 field_byte_offset keep 24->24
//# expect same raw_tp/offset#5 field_byte_offset keep 32->32
//# expect same raw_tp/offset#6 field_byte_offset keep 40->40
//# expect same raw_tp/offset#7 field_byte_offset keep 64->64
//# expect same raw_tp/size#0 field_byte_size keep 4->4
//# expect same raw_tp/size#1 field_byte_size keep 2->2
//# expect same raw_tp/size#2 field_byte_size keep 4->4
//# expect same raw_tp/size#3 field_byte_size keep 8->8
//# expect same raw_tp/size#4 field_byte_size keep 12->12
//# expect same raw_tp/size#5 field_byte_size keep 4->4
//# expect same raw_tp/size#6 field_byte_size keep 40->40
//# expect same raw_tp/size#7 field_byte_size keep 8->8
//# expect same raw_tp/exists#0 field_exists keep 1->1
//# expect same raw_tp/exists#1 field_exists keep 1->1
//# expect same raw_tp/exists#2 field_exists keep 1->1
//# expect same raw_tp/exists#3 field_exists keep 1->1
//# expect same raw_tp/exists#4 field_exists keep 1->1
//# expect same raw_tp/exists#5 field_exists keep 1->1
//# expect same raw_tp/exists#6 field_exists keep 1->1
//# expect same raw_tp/exists#7 field_exists keep 1->1
//# expect same raw_tp/sign#0 field_signed keep 0->0
//# expect same raw_tp/sign#1 field_signed keep 1->1
//# expect same raw_tp/sign#2 field_signed keep 0->0
//# expect same raw_tp/shifts#0 field_lshift_u64 keep 32->32
//# expect same raw_tp/shifts#1 field_rshift_u64 keep 32->32
//# expect same raw_tp/shifts#2 field_lshift_u64 keep 48->48
//# expect same raw_tp/shifts#3 field_rshift_u64 keep 48->48
//# expect same raw_tp/shifts#4 field_lshift_u64 keep 56->56
//# expect same raw_tp/shifts#5 field_rshift_u64 keep 56->56
//# expect changed raw_tp/offset#0 field_byte_offset patch 0->4
//# expect changed raw_tp/offset#1 field_byte_offset patch 4->8
//# expect changed raw_tp/offset#2 field_byte_offset patch 8->16
//# expect changed raw_tp/offset#3 field_byte_offset patch 16->56
//# expect changed raw_tp/offset#4 field_byte_offset patch 24->64
//# expect changed raw_tp/offset#5 field_byte_offset patch 32->72
//# expect changed raw_tp/offset#6 field_byte_offset patch 40->20
//# expect changed raw_tp/offset#7 field_byte_offset patch 64->32
//# expect changed raw_tp/size#0 field_byte_size keep 4->4
//# expect changed raw_tp/size#1 field_byte_size patch 2->8
//# expect changed raw_tp/size#2 field_byte_size keep 4->4
//# expect changed raw_tp/size#3 field_byte_size keep 8->8
//# expect changed raw_tp/size#4 field_byte_size patch 12->16
//# expect changed raw_tp/size#5 field_byte_size patch 4->8
//# expect changed raw_tp/size#6 field_byte_size patch 40->36
//# expect changed raw_tp/size#7 field_byte_size patch 8->4
//# expect changed raw_tp/exists#0 field_exists keep 1->1
//# expect changed raw_tp/exists#1 field_exists keep 1->1
//# expect changed raw_tp/exists#2 field_exists keep 1->1
//# expect changed raw_tp/exists#3 field_exists keep 1->1
//# expect changed raw_tp/exists#4 field_exists keep 1->1
//# expect changed raw_tp/exists#5 field_exists keep 1->1
//# expect changed raw_tp/exists#6 field_exists keep 1->1
//# expect changed raw_tp/exists#7 field_exists keep 1->1
//# expect changed raw_tp/sign#0 field_signed patch 0->1
//# expect changed raw_tp/sign#1 field_signed patch 1->0
//# expect changed raw_tp/sign#2 field_signed patch 0->1
//# expect changed raw_tp/shifts#0 field_lshift_u64 keep 32->32
//# expect changed raw_tp/shifts#1 field_rshift_u64 keep 32->32
//# expect changed raw_tp/shifts#2 field_lshift_u64 patch 48->0
//# expect changed raw_tp/shifts#3 field_rshift_u64 patch 48->0
//# expect changed raw_tp/shifts#4 field_lshift_u64 keep 56->56
//# expect changed raw_tp/shifts#5 field_rshift_u64 keep 56->56
//# expect gone raw_tp/offset#0 field_byte_offset keep 0->0
//# expect gone raw_tp/offset#1 field_byte_offset poison
//# expect gone raw_tp/offset#2 field_byte_offset poison
//# expect gone raw_tp/offset#3 field_byte_offset poison
//# expect gone raw_tp/offset#4 field_byte_offset poison
//# expect gone raw_tp/offset#5 field_byte_offset poison
//# expect gone raw_tp/offset#6 field_byte_offset poison
//# expect gone raw_tp/offset#7 field_byte_offset poison
//# expect gone raw_tp/size#0 field_byte_size keep 4->4
//# expect gone raw_tp/size#1 field_byte_size poison
//# expect gone raw_tp/size#2 field_byte_size poison
//# expect gone raw_tp/size#3 field_byte_size poison
//# expect gone raw_tp/size#4 field_byte_size poison
//# expect gone raw_tp/size#5 field_byte_size poison
//# expect gone raw_tp/size#6 field_byte_size poison
//# expect gone raw_tp/size#7 field_byte_size poison
//# expect gone raw_tp/exists#0 field_exists keep 1->1
//# expect gone raw_tp/exists#1 field_exists patch 1->0
//# expect gone raw_tp/exists#2 field_exists patch 1->0
//# expect gone raw_tp/exists#3 field_exists patch 1->0
//# expect gone raw_tp/exists#4 field_exists patch 1->0
//# expect gone raw_tp/exists#5 field_exists patch 1->0
//# expect gone raw_tp/exists#6 field_exists patch 1->0
//# expect gone raw_tp/exists#7 field_exists patch 1->0
//# expect gone raw_tp/sign#0 field_signed keep 0->0
//# expect gone raw_tp/sign#1 field_signed poison
//# expect gone raw_tp/sign#2 field_signed poison
//# expect gone raw_tp/shifts#0 field_lshift_u64 keep 32->32
//# expect gone raw_tp/shifts#1 field_rshift_u64 keep 32->32
//# expect gone raw_tp/shifts#2 field_lshift_u64 poison
//# expect gone raw_tp/shifts#3 field_rshift_u64 poison
//# expect gone raw_tp/shifts#4 field_lshift_u64 poison
//# expect gone raw_tp/shifts#5 field_rshift_u64 poison
// Everything that can be asked of a plain field, of each kind of type: offset, size, existence, sign, shifts.
#include "core.h"

enum mode { MODE_A, MODE_B };

struct inner {
	u32 x, y, z;
};

struct info {
	u32 num;
	s16 small;
	enum mode mode;
	void *ptr;
	struct inner inner;
	u64 array[5];
	u8 last;
};

PROG(offset)(struct info *p)
{
	USE(field_offset(p->num));
	USE(field_offset(p->small));
	USE(field_offset(p->mode));
	USE(field_offset(p->ptr));
	USE(field_offset(p->inner));
	USE(field_offset(p->inner.z));
	USE(field_offset(p->array));
	USE(field_offset(p->array[3]));
	return 0;
}

PROG(size)(struct info *p)
{
	USE(field_size(p->num));
	USE(field_size(p->small));
	USE(field_size(p->mode));
	USE(field_size(p->ptr));
	USE(field_size(p->inner));
	USE(field_size(p->inner.z));
	USE(field_size(p->array));
	USE(field_size(p->array[3]));
	return 0;
}

PROG(exists)(struct info *p)
{
	USE(field_exists(p->num));
	USE(field_exists(p->small));
	USE(field_exists(p->mode));
	USE(field_exists(p->ptr));
	USE(field_exists(p->inner));
	USE(field_exists(p->inner.z));
	USE(field_exists(p->array));
	USE(field_exists(p->last));
	return 0;
}

PROG(sign)(struct info *p)
{
	USE(field_signed(p->num));
	USE(field_signed(p->small));
	USE(field_signed(p->mode));
	return 0;
}

PROG(shifts)(struct info *p)
{
	USE(field_lshift(p->num));
	USE(field_rshift(p->num));
	USE(field_lshift(p->small));
	USE(field_rshift(p->small));
	USE(field_lshift(p->last));
	USE(field_rshift(p->last));
	return 0;
}
