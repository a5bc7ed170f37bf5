//# target: same moved plain crossing
//# expect same raw_tp/first#0 field_byte_offset keep 4->4
//# expect same raw_tp/first#1 field_byte_size keep 4->4
//# expect[el] same raw_tp/first#2 field_lshift_u64 keep 63->63
//# expect[eb] same raw_tp/first#2 field_lshift_u64 keep 32->32
//# expect same raw_tp/first#3 field_rshift_u64 keep 63->63
//# expect same raw_tp/first#4 field_signed keep 0->0
//# expect same raw_tp/first#5 field_exists keep 1->1
//# expect same raw_tp/mid#0 field_byte_offset keep 4->4
//# expect same raw_tp/mid#1 field_byte_size keep 4->4
//# expect[el] same raw_tp/mid#2 field_lshift_u64 keep 51->51
//# expect[eb] same raw_tp/mid#2 field_lshift_u64 keep 33->33
//# expect same raw_tp/mid#3 field_rshift_u64 keep 52->52
//# expect same raw_tp/mid#4 field_signed keep 0->0
//# expect same raw_tp/mid#5 field_exists keep 1->1
//# expect same raw_tp/tail#0 field_byte_offset keep 4->4
//# expect same raw_tp/tail#1 field_byte_size keep 4->4
//# expect[el] same raw_tp/tail#2 field_lshift_u64 keep 32->32
//# expect[eb] same raw_tp/tail#2 field_lshift_u64 keep 45->45
//# expect same raw_tp/tail#3 field_rshift_u64 keep 45->45
//# expect same raw_tp/tail#4 field_signed keep 0->0
//# expect same raw_tp/tail#5 field_exists keep 1->1
//# expect same raw_tp/sign#0 field_byte_offset keep 12->12
//# expect same raw_tp/sign#1 field_byte_size keep 4->4
//# expect[el] same raw_tp/sign#2 field_lshift_u64 keep 59->59
//# expect[eb] same raw_tp/sign#2 field_lshift_u64 keep 32->32
//# expect same raw_tp/sign#3 field_rshift_u64 keep 59->59
//# expect same raw_tp/sign#4 field_signed keep 1->1
//# expect same raw_tp/sign#5 field_exists keep 1->1
//# expect same raw_tp/level#0 field_byte_offset keep 12->12
//# expect same raw_tp/level#1 field_byte_size keep 4->4
//# expect[el] same raw_tp/level#2 field_lshift_u64 keep 57->57
//# expect[eb] same raw_tp/level#2 field_lshift_u64 keep 37->37
//# expect same raw_tp/level#3 field_rshift_u64 keep 62->62
//# expect same raw_tp/level#4 field_signed keep 0->0
//# expect same raw_tp/level#5 field_exists keep 1->1
//# expect same raw_tp/wide#0 field_byte_offset keep 8->8
//# expect same raw_tp/wide#1 field_byte_size keep 8->8
//# expect[el] same raw_tp/wide#2 field_lshift_u64 keep 24->24
//# expect[eb] same raw_tp/wide#2 field_lshift_u64 keep 0->0
//# expect same raw_tp/wide#3 field_rshift_u64 keep 24->24
//# expect same raw_tp/wide#4 field_signed keep 0->0
//# expect same raw_tp/wide#5 field_exists keep 1->1
//# expect same raw_tp/rest#0 field_byte_offset keep 8->8
//# expect same raw_tp/rest#1 field_byte_size keep 8->8
//# expect[el] same raw_tp/rest#2 field_lshift_u64 keep 0->0
//# expect[eb] same raw_tp/rest#2 field_lshift_u64 keep 40->40
//# expect same raw_tp/rest#3 field_rshift_u64 keep 40->40
//# expect same raw_tp/rest#4 field_signed keep 0->0
//# expect same raw_tp/rest#5 field_exists keep 1->1
//# expect same raw_tp/tiny#0 field_byte_offset keep 1->1
//# expect same raw_tp/tiny#1 field_byte_size keep 1->1
//# expect[el] same raw_tp/tiny#2 field_lshift_u64 keep 56->56
//# expect[eb] same raw_tp/tiny#2 field_lshift_u64 keep 59->59
//# expect same raw_tp/tiny#3 field_rshift_u64 keep 59->59
//# expect same raw_tp/tiny#4 field_signed keep 0->0
//# expect same raw_tp/tiny#5 field_exists keep 1->1
//# expect moved raw_tp/first#0 field_byte_offset patch 4->8
//# expect moved raw_tp/first#1 field_byte_size patch 4->2
//# expect[el] moved raw_tp/first#2 field_lshift_u64 patch 63->60
//# expect[eb] moved raw_tp/first#2 field_lshift_u64 patch 32->51
//# expect moved raw_tp/first#3 field_rshift_u64 keep 63->63
//# expect moved raw_tp/first#4 field_signed keep 0->0
//# expect moved raw_tp/first#5 field_exists keep 1->1
//# expect moved raw_tp/mid#0 field_byte_offset patch 4->8
//# expect moved raw_tp/mid#1 field_byte_size keep 4->4
//# expect[el] moved raw_tp/mid#2 field_lshift_u64 patch 51->40
//# expect[eb] moved raw_tp/mid#2 field_lshift_u64 patch 33->36
//# expect moved raw_tp/mid#3 field_rshift_u64 patch 52->44
//# expect moved raw_tp/mid#4 field_signed patch 0->1
//# expect moved raw_tp/mid#5 field_exists keep 1->1
//# expect moved raw_tp/tail#0 field_byte_offset patch 4->8
//# expect moved raw_tp/tail#1 field_byte_size keep 4->4
//# expect[el] moved raw_tp/tail#2 field_lshift_u64 patch 32->33
//# expect[eb] moved raw_tp/tail#2 field_lshift_u64 patch 45->56
//# expect moved raw_tp/tail#3 field_rshift_u64 patch 45->57
//# expect moved raw_tp/tail#4 field_signed patch 0->1
//# expect moved raw_tp/tail#5 field_exists keep 1->1
//# expect moved raw_tp/sign#0 field_byte_offset keep 12->12
//# expect moved raw_tp/sign#1 field_byte_size keep 4->4
//# expect[el] moved raw_tp/sign#2 field_lshift_u64 patch 59->33
//# expect[eb] moved raw_tp/sign#2 field_lshift_u64 keep 32->32
//# expect moved raw_tp/sign#3 field_rshift_u64 patch 59->33
//# expect moved raw_tp/sign#4 field_signed patch 1->0
//# expect moved raw_tp/sign#5 field_exists keep 1->1
//# expect moved raw_tp/level#0 field_byte_offset patch 12->16
//# expect moved raw_tp/level#1 field_byte_size keep 4->4
//# expect[el] moved raw_tp/level#2 field_lshift_u64 patch 57->61
//# expect[eb] moved raw_tp/level#2 field_lshift_u64 patch 37->32
//# expect moved raw_tp/level#3 field_rshift_u64 patch 62->61
//# expect moved raw_tp/level#4 field_signed patch 0->1
//# expect moved raw_tp/level#5 field_exists keep 1->1
//# expect moved raw_tp/wide#0 field_byte_offset patch 8->0
//# expect moved raw_tp/wide#1 field_byte_size keep 8->8
//# expect[el] moved raw_tp/wide#2 field_lshift_u64 patch 24->22
//# expect[eb] moved raw_tp/wide#2 field_lshift_u64 patch 0->9
//# expect moved raw_tp/wide#3 field_rshift_u64 patch 24->31
//# expect moved raw_tp/wide#4 field_signed keep 0->0
//# expect moved raw_tp/wide#5 field_exists keep 1->1
//# expect moved raw_tp/rest#0 field_byte_offset patch 8->0
//# expect moved raw_tp/rest#1 field_byte_size keep 8->8
//# expect[el] moved raw_tp/rest#2 field_lshift_u64 patch 0->55
//# expect[eb] moved raw_tp/rest#2 field_lshift_u64 patch 40->0
//# expect moved raw_tp/rest#3 field_rshift_u64 patch 40->55
//# expect moved raw_tp/rest#4 field_signed keep 0->0
//# expect moved raw_tp/rest#5 field_exists keep 1->1
//# expect moved raw_tp/tiny#0 field_byte_offset patch 1->4
//# expect moved raw_tp/tiny#1 field_byte_size patch 1->4
//# expect[el] moved raw_tp/tiny#2 field_lshift_u64 patch 56->34
//# expect[eb] moved raw_tp/tiny#2 field_lshift_u64 patch 59->45
//# expect moved raw_tp/tiny#3 field_rshift_u64 patch 59->47
//# expect moved raw_tp/tiny#4 field_signed keep 0->0
//# expect moved raw_tp/tiny#5 field_exists keep 1->1
//# expect plain raw_tp/first#0 field_byte_offset patch 4->0
//# expect plain raw_tp/first#1 field_byte_size patch 4->1
//# expect[el] plain raw_tp/first#2 field_lshift_u64 patch 63->56
//# expect[eb] plain raw_tp/first#2 field_lshift_u64 patch 32->56
//# expect plain raw_tp/first#3 field_rshift_u64 patch 63->56
//# expect plain raw_tp/first#4 field_signed keep 0->0
//# expect plain raw_tp/first#5 field_exists keep 1->1
//# expect plain raw_tp/mid#0 field_byte_offset patch 4->2
//# expect plain raw_tp/mid#1 field_byte_size patch 4->2
//# expect[el] plain raw_tp/mid#2 field_lshift_u64 patch 51->48
//# expect[eb] plain raw_tp/mid#2 field_lshift_u64 patch 33->48
//# expect plain raw_tp/mid#3 field_rshift_u64 patch 52->48
//# expect plain raw_tp/mid#4 field_signed keep 0->0
//# expect plain raw_tp/mid#5 field_exists keep 1->1
//# expect plain raw_tp/tail#0 field_byte_offset keep 4->4
//# expect plain raw_tp/tail#1 field_byte_size keep 4->4
//# expect[el] plain raw_tp/tail#2 field_lshift_u64 keep 32->32
//# expect[eb] plain raw_tp/tail#2 field_lshift_u64 patch 45->32
//# expect plain raw_tp/tail#3 field_rshift_u64 patch 45->32
//# expect plain raw_tp/tail#4 field_signed keep 0->0
//# expect plain raw_tp/tail#5 field_exists keep 1->1
//# expect plain raw_tp/sign#0 field_byte_offset patch 12->8
//# expect plain raw_tp/sign#1 field_byte_size patch 4->8
//# expect[el] plain raw_tp/sign#2 field_lshift_u64 patch 59->0
//# expect[eb] plain raw_tp/sign#2 field_lshift_u64 patch 32->0
//# expect plain raw_tp/sign#3 field_rshift_u64 patch 59->0
//# expect plain raw_tp/sign#4 field_signed keep 1->1
//# expect plain raw_tp/sign#5 field_exists keep 1->1
//# expect plain raw_tp/level#0 field_byte_offset patch 12->16
//# expect plain raw_tp/level#1 field_byte_size keep 4->4
//# expect[el] plain raw_tp/level#2 field_lshift_u64 patch 57->32
//# expect[eb] plain raw_tp/level#2 field_lshift_u64 patch 37->32
//# expect plain raw_tp/level#3 field_rshift_u64 patch 62->32
//# expect plain raw_tp/level#4 field_signed keep 0->0
//# expect plain raw_tp/level#5 field_exists keep 1->1
//# expect plain raw_tp/wide#0 field_byte_offset patch 8->0
//# expect plain raw_tp/wide#1 field_byte_size keep 8->8
//# expect[el] plain raw_tp/wide#2 field_lshift_u64 patch 24->0
//# expect[eb] plain raw_tp/wide#2 field_lshift_u64 keep 0->0
//# expect plain raw_tp/wide#3 field_rshift_u64 patch 24->0
//# expect plain raw_tp/wide#4 field_signed keep 0->0
//# expect plain raw_tp/wide#5 field_exists keep 1->1
//# expect plain raw_tp/rest#0 field_byte_offset keep 8->8
//# expect plain raw_tp/rest#1 field_byte_size patch 8->4
//# expect[el] plain raw_tp/rest#2 field_lshift_u64 patch 0->32
//# expect[eb] plain raw_tp/rest#2 field_lshift_u64 patch 40->32
//# expect plain raw_tp/rest#3 field_rshift_u64 patch 40->32
//# expect plain raw_tp/rest#4 field_signed keep 0->0
//# expect plain raw_tp/rest#5 field_exists keep 1->1
//# expect plain raw_tp/tiny#0 field_byte_offset patch 1->8
//# expect plain raw_tp/tiny#1 field_byte_size keep 1->1
//# expect[el] plain raw_tp/tiny#2 field_lshift_u64 keep 56->56
//# expect[eb] plain raw_tp/tiny#2 field_lshift_u64 patch 59->56
//# expect plain raw_tp/tiny#3 field_rshift_u64 patch 59->56
//# expect plain raw_tp/tiny#4 field_signed keep 0->0
//# expect plain raw_tp/tiny#5 field_exists keep 1->1
//# expect crossing raw_tp/first#0 field_byte_offset patch 4->0
//# expect crossing raw_tp/first#1 field_byte_size patch 4->1
//# expect[el] crossing raw_tp/first#2 field_lshift_u64 patch 63->57
//# expect[eb] crossing raw_tp/first#2 field_lshift_u64 patch 32->62
//# expect crossing raw_tp/first#3 field_rshift_u64 keep 63->63
//# expect crossing raw_tp/first#4 field_signed keep 0->0
//# expect crossing raw_tp/first#5 field_exists keep 1->1
//# expect crossing raw_tp/mid#0 field_byte_offset patch 4->0
//# expect crossing raw_tp/mid#1 field_byte_size patch 4->8
//# expect[el] crossing raw_tp/mid#2 field_lshift_u64 patch 51->29
//# expect[eb] crossing raw_tp/mid#2 field_lshift_u64 patch 33->15
//# expect crossing raw_tp/mid#3 field_rshift_u64 patch 52->44
//# expect crossing raw_tp/mid#4 field_signed keep 0->0
//# expect crossing raw_tp/mid#5 field_exists keep 1->1
//# expect crossing raw_tp/tail#0 field_byte_offset keep 4->4
//# expect crossing raw_tp/tail#1 field_byte_size keep 4->4
//# expect[el] crossing raw_tp/tail#2 field_lshift_u64 patch 32->42
//# expect[eb] crossing raw_tp/tail#2 field_lshift_u64 patch 45->35
//# expect crossing raw_tp/tail#3 field_rshift_u64 keep 45->45
//# expect crossing raw_tp/tail#4 field_signed keep 0->0
//# expect crossing raw_tp/tail#5 field_exists keep 1->1
//# expect crossing raw_tp/sign#0 field_byte_offset patch 12->8
//# expect crossing raw_tp/sign#1 field_byte_size patch 4->8
//# expect[el] crossing raw_tp/sign#2 field_lshift_u64 patch 59->29
//# expect[eb] crossing raw_tp/sign#2 field_lshift_u64 patch 32->26
//# expect crossing raw_tp/sign#3 field_rshift_u64 patch 59->55
//# expect crossing raw_tp/sign#4 field_signed keep 1->1
//# expect crossing raw_tp/sign#5 field_exists keep 1->1
//# expect crossing raw_tp/level#0 field_byte_offset keep 12->12
//# expect crossing raw_tp/level#1 field_byte_size keep 4->4
//# expect[el] crossing raw_tp/level#2 field_lshift_u64 patch 57->59
//# expect[eb] crossing raw_tp/level#2 field_lshift_u64 patch 37->35
//# expect crossing raw_tp/level#3 field_rshift_u64 keep 62->62
//# expect crossing raw_tp/level#4 field_signed keep 0->0
//# expect crossing raw_tp/level#5 field_exists keep 1->1
//# expect crossing raw_tp/wide#0 field_byte_offset patch 8->0
//# expect crossing raw_tp/wide#1 field_byte_size patch 8->4
//# expect[el] crossing raw_tp/wide#2 field_lshift_u64 patch 24->34
//# expect[eb] crossing raw_tp/wide#2 field_lshift_u64 patch 0->32
//# expect crossing raw_tp/wide#3 field_rshift_u64 patch 24->34
//# expect crossing raw_tp/wide#4 field_signed keep 0->0
//# expect crossing raw_tp/wide#5 field_exists keep 1->1
//# expect crossing raw_tp/rest#0 field_byte_offset patch 8->0
//# expect crossing raw_tp/rest#1 field_byte_size keep 8->8
//# expect[el] crossing raw_tp/rest#2 field_lshift_u64 patch 0->3
//# expect[eb] crossing raw_tp/rest#2 field_lshift_u64 patch 40->30
//# expect crossing raw_tp/rest#3 field_rshift_u64 patch 40->33
//# expect crossing raw_tp/rest#4 field_signed keep 0->0
//# expect crossing raw_tp/rest#5 field_exists keep 1->1
//# expect crossing raw_tp/tiny#0 field_byte_offset patch 1->0
//# expect crossing raw_tp/tiny#1 field_byte_size patch 1->2
//# expect[el] crossing raw_tp/tiny#2 field_lshift_u64 patch 56->51
//# expect[eb] crossing raw_tp/tiny#2 field_lshift_u64 patch 59->54
//# expect crossing raw_tp/tiny#3 field_rshift_u64 patch 59->57
//# expect crossing raw_tp/tiny#4 field_signed keep 0->0
//# expect crossing raw_tp/tiny#5 field_exists keep 1->1
// The parts of a bitfield read (unit offset, unit size, two shifts, sign) for fields at every place of a unit.
// One struct for each width of unit: clang takes the unit's width from the struct's alignment.
#include "core.h"

#define ASK(field)                           \
	do {                                 \
		USE(field_offset(p->field)); \
		USE(field_size(p->field));   \
		USE(field_lshift(p->field)); \
		USE(field_rshift(p->field)); \
		USE(field_signed(p->field)); \
		USE(field_exists(p->field)); \
	} while (0)

enum level { LOW, HIGH = 3 };

struct bits {
	u32 before;
	u32 first : 1;
	u32 mid : 12;
	u32 tail : 19;
	u32 between;
	s32 sign : 5;
	enum level level : 2;
};

struct wide_bits {
	u64 before;
	u64 wide : 40;
	u64 rest : 24;
};

struct tiny_bits {
	u8 before;
	u8 low : 3;
	u8 tiny : 5;
};

PROG(first)(struct bits *p) { ASK(first); return 0; }
PROG(mid)(struct bits *p) { ASK(mid); return 0; }
PROG(tail)(struct bits *p) { ASK(tail); return 0; }
PROG(sign)(struct bits *p) { ASK(sign); return 0; }
PROG(level)(struct bits *p) { ASK(level); return 0; }
PROG(wide)(struct wide_bits *p) { ASK(wide); return 0; }
PROG(rest)(struct wide_bits *p) { ASK(rest); return 0; }
PROG(tiny)(struct tiny_bits *p) { ASK(tiny); return 0; }
