//# target: self
// Strong and in .bss, of a variable that own_place_a has weak and in .data.
#include "link.h"

long zero_b, more_b;
int moved;

PROG(own_place_b)(void *ctx)
{
	return zero_b + more_b + moved;
}
