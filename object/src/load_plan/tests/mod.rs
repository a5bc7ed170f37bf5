//! Tests of load plans, with objects and kernels that are built in memory.

mod errors;
mod externs;
mod maps;
mod programs;
mod struct_ops;
mod types;

use crate::{features::Features, load_plan::Host};

/// Returns the kernel without some features.
fn without(mut host: Host, lacks: &[crate::features::Feature]) -> Host {
    let lacks = lacks.to_vec();
    host.features = Features::fixed(move |f| !lacks.contains(&f));
    host
}
