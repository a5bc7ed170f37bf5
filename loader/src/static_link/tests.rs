//! Rules of linking; libbpf's own results are compared in `tests/`.
