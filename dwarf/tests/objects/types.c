// Functions and variables. `build.sh` compiles this file with several compilers and versions of DWARF.
#include "shared.h"

struct outer *outer;
struct several several;
__attribute__((section(".data..percpu"))) int counter = 1;
static __attribute__((section(".data..percpu"))) struct list percpu_list;
static __attribute__((noinline)) int helper(const struct outer *a, int n)
{
	return n + (a != 0);
}
int global_function(struct several *z, u64 v)
{
	struct local {
		int q;
	} l = { 3 };
	return helper(outer, (int)v) + l.q + z->n;
}
int variadic(int a, ...)
{
	return a;
}
void *no_arguments(void)
{
	return &percpu_list;
}
