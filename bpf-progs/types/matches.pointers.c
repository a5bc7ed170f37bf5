// What stands behind pointers: only declared, of another kind, of another name.
#include "target.h"

struct near;
union nears {
	u32 n;
};
enum m_enum { M_A = 1, M_B = 2 };
struct m_part {
	u32 *only;
};
struct m_fn {
	int (*call)(union nears *, u32);
};
typedef struct near *m_ptr_t;
typedef int (*m_fn_t)(void *, enum m_enum);
KEEP(struct m_part);
KEEP(struct m_fn);
KEEP(m_ptr_t);
KEEP(m_fn_t);
KEEP(union nears);
