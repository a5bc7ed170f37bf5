//! Compiles the BPF programs, and generates their skeleton.

fn main() -> Result<(), core_relo_build::BuildError> {
    core_relo_build::Builder::new().source("src/bpf/agent.bpf.c").build()?;
    Ok(())
}
