// A member, an enumerator or a parameter fewer, an array shorter: no match, except where it lies behind a pointer.
#include "target.h"

struct near {
	u64 other;
};
enum m_enum { M_A = 1 };
struct m_struct {
	u32 num;
	s16 small;
	u8 array[3];
	enum m_enum e;
	struct near near;
	struct near *near_ptr;
	struct far *far_ptr;
	struct {
		u32 anon;
	};
};
union m_union {
	u64 b;
};
struct m_part {
	u32 renamed;
};
struct m_fn {
	int (*call)(struct near *);
};
typedef u32 m_int_t;
typedef struct near *m_ptr_t;
typedef int (*m_fn_t)(struct near *, enum m_enum);
KEEP(struct m_struct);
KEEP(union m_union);
KEEP(struct m_part);
KEEP(struct m_fn);
KEEP(m_int_t);
KEEP(m_ptr_t);
KEEP(m_fn_t);
