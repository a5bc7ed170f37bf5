// One enumerator each.
#include "target.h"

enum wide { WIDE_ONE = 1 };
enum wides { WIDES_MINUS = -1 };
KEEP(enum wide);
KEEP(enum wides);
