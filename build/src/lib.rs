//! Generates Rust skeletons of BPF objects.

extern crate alloc;

pub mod skeleton;
