/* What programs of several files need: declarations of what another file, or the kernel, has. */
#ifndef LINK_H
#define LINK_H

#include "helpers.h"

/* The section of what is only declared; SEC would ask for it to be kept. */
#define IN(name) __attribute__((section(name)))
#define WEAK __attribute__((weak))
#define HIDDEN __attribute__((visibility("hidden")))

#endif
