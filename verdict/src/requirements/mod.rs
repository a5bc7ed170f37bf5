//! All that an object asks of a kernel, from the object alone.
