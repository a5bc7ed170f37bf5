//! x
pub fn clang() {}
