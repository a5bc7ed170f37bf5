//# requires: clang>=16
//# target: same more less signs pointers
// TYPE_MATCHES: names, members, sizes, signs and counts must agree; behind a pointer names and kinds suffice.
#include "core.h"

struct far;
struct near {
	u32 n;
};
enum m_enum { M_A = 1, M_B = 2 };
struct m_struct {
	u32 num;
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
union m_union {
	u32 a;
	u64 b;
};
struct m_part {
	u32 only;
};
struct m_fn {
	int (*call)(struct near *, u32);
};
typedef u32 m_int_t;
typedef struct near *m_ptr_t;
typedef int (*m_fn_t)(struct near *, enum m_enum);

PROG(matches)(void *ctx)
{
	USE(type_matches(struct m_struct));
	USE(type_matches(union m_union));
	USE(type_matches(enum m_enum));
	USE(type_matches(struct m_part));
	USE(type_matches(struct m_fn));
	USE(type_matches(m_int_t));
	USE(type_matches(m_ptr_t));
	USE(type_matches(m_fn_t));
	USE(type_matches(struct near));
	return 0;
}
