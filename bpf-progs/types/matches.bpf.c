//# requires: clang>=15
//# target: same more less signs pointers
//# expect same raw_tp/matches#0 type_matches keep 1->1
//# expect same raw_tp/matches#1 type_matches keep 1->1
//# expect same raw_tp/matches#2 type_matches keep 1->1
//# expect same raw_tp/matches#3 type_matches keep 1->1
//# expect same raw_tp/matches#4 type_matches keep 1->1
//# expect same raw_tp/matches#5 type_matches keep 1->1
//# expect same raw_tp/matches#6 type_matches keep 1->1
//# expect same raw_tp/matches#7 type_matches keep 1->1
//# expect same raw_tp/matches#8 type_matches keep 1->1
//# expect more raw_tp/matches#0 type_matches keep 1->1
//# expect more raw_tp/matches#1 type_matches keep 1->1
//# expect more raw_tp/matches#2 type_matches keep 1->1
//# expect more raw_tp/matches#3 type_matches keep 1->1
//# expect more raw_tp/matches#4 type_matches keep 1->1
//# expect more raw_tp/matches#5 type_matches keep 1->1
//# expect more raw_tp/matches#6 type_matches keep 1->1
//# expect more raw_tp/matches#7 type_matches keep 1->1
//# expect more raw_tp/matches#8 type_matches keep 1->1
//# expect less raw_tp/matches#0 type_matches patch 1->0
//# expect less raw_tp/matches#1 type_matches patch 1->0
//# expect less raw_tp/matches#2 type_matches patch 1->0
//# expect less raw_tp/matches#3 type_matches patch 1->0
//# expect less raw_tp/matches#4 type_matches patch 1->0
//# expect less raw_tp/matches#5 type_matches keep 1->1
//# expect less raw_tp/matches#6 type_matches keep 1->1
//# expect less raw_tp/matches#7 type_matches patch 1->0
//# expect less raw_tp/matches#8 type_matches patch 1->0
//# expect signs raw_tp/matches#0 type_matches patch 1->0
//# expect signs raw_tp/matches#1 type_matches patch 1->0
//# expect signs raw_tp/matches#2 type_matches patch 1->0
//# expect signs raw_tp/matches#3 type_matches patch 1->0
//# expect signs raw_tp/matches#4 type_matches patch 1->0
//# expect signs raw_tp/matches#5 type_matches patch 1->0
//# expect signs raw_tp/matches#6 type_matches keep 1->1
//# expect signs raw_tp/matches#7 type_matches patch 1->0
//# expect signs raw_tp/matches#8 type_matches patch 1->0
//# expect pointers raw_tp/matches#0 type_matches patch 1->0
//# expect pointers raw_tp/matches#1 type_matches patch 1->0
//# expect pointers raw_tp/matches#2 type_matches keep 1->1
//# expect pointers raw_tp/matches#3 type_matches patch 1->0
//# expect pointers raw_tp/matches#4 type_matches patch 1->0
//# expect pointers raw_tp/matches#5 type_matches patch 1->0
//# expect pointers raw_tp/matches#6 type_matches keep 1->1
//# expect pointers raw_tp/matches#7 type_matches patch 1->0
//# expect pointers raw_tp/matches#8 type_matches patch 1->0
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
