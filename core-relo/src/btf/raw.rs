//! bpftool's raw notation.
