// One enumerator removed, two renamed; a flavour suffix on an enumerator does not count.
#include "target.h"

enum code { CODE_ONE___now = 1, CODE_FIVES = 5, code_max = 0x7fffffff };
KEEP(enum code);
