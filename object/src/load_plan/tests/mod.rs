//! Plans of objects made byte by byte, for kernels made type by type.

mod bad;
mod externs;
mod maps;
mod programs;
mod struct_ops;
mod types;

use crate::{features::Features, load_plan::Host};

/// The same kernel without some features.
fn without(mut host: Host, lacks: &[crate::features::Feature]) -> Host {
    let lacks = lacks.to_vec();
    host.features = Features::fixed(move |f| !lacks.contains(&f));
    host
}
