//! Rust types of C types.
