//! Maps on the running kernel.
#![cfg(test)]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers")]

mod arrays;
mod concurrent;
mod memory;
mod objects;
mod tables;
