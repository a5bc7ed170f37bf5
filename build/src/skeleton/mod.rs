//! The generator of skeletons: a BPF object as Rust source text.
