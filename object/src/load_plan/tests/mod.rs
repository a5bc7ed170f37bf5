//! Tests of load plans, with objects and kernels that are built in memory.

mod errors;
mod externs;
mod info;
mod kconfig;
mod maps;
mod programs;
mod repairs;
mod struct_ops;
mod symbols;
mod types;

use crate::{features::Features, load_plan::TargetKernel};

/// Returns the kernel without some features.
fn without(mut kernel: TargetKernel, lacks: &[crate::features::Feature]) -> TargetKernel {
    let lacks = lacks.to_vec();
    kernel.features = Features::fixed(move |f| !lacks.contains(&f));
    kernel
}
