//! The loader on the running kernel: what it loads, attaches and sees fire, and that nothing stays behind. Needs root;
//! `cargo xtask vm` runs these tests on other kernels.

#[cfg(target_os = "linux")]
mod live {
    mod harness;
    mod smoke;
    mod surroundings;
    mod tracing;
}
