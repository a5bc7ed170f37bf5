//! Plans of objects made byte by byte, for kernels made type by type.

mod bad;
mod externs;
mod maps;
mod programs;
mod struct_ops;
mod types;

use crate::{features::Features, load_plan::TargetKernel};

/// The same kernel without some features.
fn without(mut kernel: TargetKernel, lacks: &[crate::features::Feature]) -> TargetKernel {
    let lacks = lacks.to_vec();
    kernel.features = Features::fixed(move |f| !lacks.contains(&f));
    kernel
}
