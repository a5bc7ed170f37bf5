//! Rules of deduplication, one by one; libbpf's own answers are compared in `tests/`.
