// Signs and widths differ.
#include "target.h"

struct near {
	s32 n;
};
enum m_enum { M_A = 1, M_B = 2, M_C = 0x100000000 };
struct m_struct {
	s32 num;
	s16 small;
	u8 array[4];
	enum m_enum e;
	struct near near;
	struct near *near_ptr;
	struct far *far_ptr;
	struct {
		u32 anon;
	};
};
struct m_union {
	u32 a;
	u64 b;
};
struct m_part {
	u64 only;
};
struct m_fn {
	int (*call)(struct near *, s32);
};
typedef u64 m_int_t;
typedef struct near *m_ptr_t;
typedef int (*m_fn_t)(struct near *, enum m_enum);
KEEP(struct m_struct);
KEEP(struct m_union);
KEEP(struct m_part);
KEEP(struct m_fn);
KEEP(m_int_t);
KEEP(m_ptr_t);
KEEP(m_fn_t);
