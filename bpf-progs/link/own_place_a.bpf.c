//# target: self
// Weak and in .data; own_place_b has it strong and in .bss, where libbpf then overwrites another variable's entry.
#include "link.h"

int first_a = 1;
WEAK int moved = 2;

PROG(own_place_a)(void *ctx)
{
	return first_a + moved;
}
