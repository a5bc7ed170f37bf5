// More of everything, in another order, and other values: still a match.
#include "target.h"

struct far;
struct near {
	u64 first;
	u32 n;
};
enum m_enum { M_Z, M_B, M_A };
struct m_struct {
	struct {
		u64 x;
		u32 anon;
	};
	struct far *far_ptr;
	struct near *near_ptr;
	struct near near;
	enum m_enum e___flavoured;
	u8 array[4];
	s16 small;
	u64 more;
	const u32 num;
};
union m_union {
	u8 c;
	u64 b;
	u32 a;
};
struct m_part {
	u32 before, only, after;
};
struct m_fn {
	int (*call)(struct near *, u32);
	int (*more)(void);
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
