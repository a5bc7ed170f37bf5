//# target: kernels
//# requires: clang>=14
// Arguments and results in the registers of one architecture.
#define __TARGET_ARCH_powerpc
#include "registers.h"
