//! Rings on the running kernel.
#![cfg(test)]

mod perf;
mod ring_buffer;
mod user;
