//! Parts.
fn main() {}
