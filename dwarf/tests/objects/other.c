// A second unit: it defines a struct that is only declared in the first, and a function of the same name.
#include "shared.h"

struct forward {
	struct list list;
	int count;
};
struct outer *other_outer;
struct several other_several;
int other_function(struct forward *f, struct list *l)
{
	return f->count + (l != 0);
}
static __attribute__((noinline)) int helper(long different)
{
	return different;
}
int calls_helper(int x)
{
	return helper(x);
}
