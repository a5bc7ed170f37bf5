//# target: widened narrowed crossed chars ptr32
//# expect widened raw_tp/load#0 field_byte_offset patch 0->0
//# expect widened raw_tp/load#1 field_byte_offset patch 2->4
//# expect widened raw_tp/load#2 field_byte_offset patch 4->8
//# expect widened raw_tp/load#3 field_byte_offset patch 8->16
//# expect widened raw_tp/load#4 field_byte_offset poison
//# expect widened raw_tp/load#5 field_byte_offset poison
//# expect widened raw_tp/load#6 field_byte_offset patch 24->40
//# expect widened raw_tp/load#7 field_byte_offset patch 32->48
//# expect widened raw_tp/store#0 field_byte_offset patch 0->0
//# expect widened raw_tp/store#1 field_byte_offset patch 2->4
//# expect widened raw_tp/store#2 field_byte_offset patch 4->8
//# expect widened raw_tp/store#3 field_byte_offset patch 8->16
//# expect widened raw_tp/store#4 field_byte_offset poison
//# expect widened raw_tp/address#0 field_byte_offset patch 16->24
//# expect widened raw_tp/address#1 field_byte_size patch 4->8
//# expect narrowed raw_tp/load#0 field_byte_offset keep 0->0
//# expect narrowed raw_tp/load#1 field_byte_offset patch 2->1
//# expect narrowed raw_tp/load#2 field_byte_offset patch 4->2
//# expect narrowed raw_tp/load#3 field_byte_offset patch 8->4
//# expect narrowed raw_tp/load#4 field_byte_offset poison
//# expect narrowed raw_tp/load#5 field_byte_offset poison
//# expect narrowed raw_tp/load#6 field_byte_offset patch 24->12
//# expect narrowed raw_tp/load#7 field_byte_offset patch 32->16
//# expect narrowed raw_tp/store#0 field_byte_offset keep 0->0
//# expect narrowed raw_tp/store#1 field_byte_offset patch 2->1
//# expect narrowed raw_tp/store#2 field_byte_offset patch 4->2
//# expect narrowed raw_tp/store#3 field_byte_offset patch 8->4
//# expect narrowed raw_tp/store#4 field_byte_offset poison
//# expect narrowed raw_tp/address#0 field_byte_offset patch 16->8
//# expect narrowed raw_tp/address#1 field_byte_size patch 4->2
//# expect crossed raw_tp/load#0 field_byte_offset poison
//# expect crossed raw_tp/load#1 field_byte_offset keep 2->2
//# expect crossed raw_tp/load#2 field_byte_offset poison
//# expect crossed raw_tp/load#3 field_byte_offset poison
//# expect crossed raw_tp/load#4 field_byte_offset patch 16->20
//# expect crossed raw_tp/load#5 field_byte_offset poison
//# expect crossed raw_tp/load#6 field_byte_offset patch 24->32
//# expect crossed raw_tp/load#7 field_byte_offset patch 32->40
//# expect crossed raw_tp/store#0 field_byte_offset poison
//# expect crossed raw_tp/store#1 field_byte_offset keep 2->2
//# expect crossed raw_tp/store#2 field_byte_offset poison
//# expect crossed raw_tp/store#3 field_byte_offset poison
//# expect crossed raw_tp/store#4 field_byte_offset patch 16->20
//# expect crossed raw_tp/address#0 field_byte_offset patch 16->20
//# expect crossed raw_tp/address#1 field_byte_size keep 4->4
//# expect chars raw_tp/load#0 field_byte_offset keep 0->0
//# expect chars raw_tp/load#1 field_byte_offset patch 2->1
//# expect chars raw_tp/load#2 field_byte_offset poison
//# expect chars raw_tp/load#3 field_byte_offset patch 8->3
//# expect chars raw_tp/load#4 field_byte_offset poison
//# expect chars raw_tp/load#5 field_byte_offset poison
//# expect chars raw_tp/load#6 field_byte_offset patch 24->8
//# expect chars raw_tp/load#7 field_byte_offset patch 32->16
//# expect chars raw_tp/store#0 field_byte_offset keep 0->0
//# expect chars raw_tp/store#1 field_byte_offset patch 2->1
//# expect chars raw_tp/store#2 field_byte_offset poison
//# expect chars raw_tp/store#3 field_byte_offset patch 8->3
//# expect chars raw_tp/store#4 field_byte_offset poison
//# expect chars raw_tp/address#0 field_byte_offset patch 16->4
//# expect chars raw_tp/address#1 field_byte_size patch 4->1
//# expect[el] ptr32 raw_tp/load#0 field_byte_offset keep 0->0
//# expect[el] ptr32 raw_tp/load#1 field_byte_offset keep 2->2
//# expect[el] ptr32 raw_tp/load#2 field_byte_offset keep 4->4
//# expect[el] ptr32 raw_tp/load#3 field_byte_offset patch 8->8
//# expect[el] ptr32 raw_tp/load#4 field_byte_offset patch 16->12
//# expect[el] ptr32 raw_tp/load#5 field_byte_offset patch 20->16
//# expect[el] ptr32 raw_tp/load#6 field_byte_offset patch 24->20
//# expect[el] ptr32 raw_tp/load#7 field_byte_offset patch 32->28
//# expect[el] ptr32 raw_tp/store#0 field_byte_offset keep 0->0
//# expect[el] ptr32 raw_tp/store#1 field_byte_offset keep 2->2
//# expect[el] ptr32 raw_tp/store#2 field_byte_offset keep 4->4
//# expect[el] ptr32 raw_tp/store#3 field_byte_offset patch 8->8
//# expect[el] ptr32 raw_tp/store#4 field_byte_offset patch 16->12
//# expect[el] ptr32 raw_tp/address#0 field_byte_offset patch 16->12
//# expect[el] ptr32 raw_tp/address#1 field_byte_size keep 4->4
// Loads whose field has another width in the target: unsigned integers follow, everything else is poisoned.
#include "core.h"

enum state { IDLE, BUSY };

struct resize {
	u8 b;
	u16 h;
	u32 w;
	u64 dw;
	s32 sw;
	enum state state;
	u64 last;
	void *ptr;
} CORE;

PROG(load)(struct resize *p)
{
	USE(p->b);
	USE(p->h);
	USE(p->w);
	USE(p->dw);
	USE(p->sw);
	USE(p->state);
	USE(p->last);
	USE(p->ptr);
	return 0;
}

PROG(store)(struct resize *p, u64 x)
{
	HIDE(x);
	p->b = x;
	HIDE(p);
	p->h = x;
	HIDE(p);
	p->w = x;
	HIDE(p);
	p->dw = x;
	HIDE(p);
	p->sw = x;
	return 0;
}

PROG(address)(struct resize *p)
{
	USE(&p->sw);
	USE(field_size(p->sw));
	return 0;
}
