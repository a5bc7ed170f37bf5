// Two enumerators; the typedef is another enum's name.
#include "target.h"

enum mode { M_ON = 7, M_OFF = 8 };
KEEP(enum mode);

enum tmode { T_A = 5 };
typedef enum tmode tmode_t;
KEEP(tmode_t);
