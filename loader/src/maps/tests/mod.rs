//! Maps on the running kernel.
#![cfg(test)]
