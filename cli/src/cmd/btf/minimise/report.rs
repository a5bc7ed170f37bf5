//! The report of `btf min`: a line for each kernel.

use super::kernels::{MinimalKernel, MinimalModule};
use crate::{
    console::Console,
    text::table::{AlignedTable, Cell, left_cell, right_cell},
};
use serde::Serialize;
use std::io;

/// The JSON line of a kernel.
#[derive(Serialize)]
pub(super) struct MinimalKernelJson<'k> {
    target: &'k str,
    file: String,
    release: &'k str,
    architecture: &'k str,
    distribution: &'k str,
    distribution_version: &'k str,
    build_id: &'k str,
    version: &'k str,
    types: usize,
    bytes: usize,
    full_bytes: usize,
    modules: Vec<ModuleJson<'k>>,
    keeps_ids: bool,
}

/// A module of a kernel.
#[derive(Serialize)]
struct ModuleJson<'k> {
    name: &'k str,
    types: usize,
    bytes: usize,
}

impl<'k> MinimalKernelJson<'k> {
    pub(super) fn new(kernel: &'k MinimalKernel) -> Self {
        let identity = &kernel.identity;
        Self {
            target: &kernel.name,
            file: identity.file_name(),
            release: &identity.release,
            architecture: &identity.architecture,
            distribution: &identity.distribution.id,
            distribution_version: &identity.distribution.version,
            build_id: &identity.build_id,
            version: &identity.version,
            types: kernel.type_count,
            bytes: kernel.bytes.len(),
            full_bytes: kernel.full_bytes,
            modules: kernel.modules.iter().map(ModuleJson::new).collect(),
            keeps_ids: kernel.keeps_ids,
        }
    }
}

impl<'k> ModuleJson<'k> {
    fn new(module: &'k MinimalModule) -> Self {
        Self { name: &module.name, types: module.type_count, bytes: module.bytes.len() }
    }
}

/// Prints a table of the kernels and their modules.
pub(super) fn write_report(
    console: &mut Console<'_>,
    output: &str,
    kernels: &[MinimalKernel],
) -> io::Result<()> {
    let row = |kernel: &MinimalKernel| -> Vec<Cell> {
        vec![
            left_cell(kernel.identity.file_name()),
            right_cell(kernel.type_count),
            right_cell(kernel.bytes.len()),
            right_cell(kernel.full_bytes),
        ]
    };
    let mut table = AlignedTable::new();
    table.header([left_cell("KERNEL"), right_cell("TYPES"), right_cell("BYTES"), right_cell("FULL BYTES")]);
    for kernel in kernels {
        table.row(row(kernel));
        for module in &kernel.modules {
            let name = format!("  module {}", module.name);
            table.row([
                left_cell(name),
                right_cell(module.type_count),
                right_cell(module.bytes.len()),
                right_cell(""),
            ]);
        }
    }
    table.lines().into_iter().try_for_each(|line| console.out.line(line))?;
    console.out.line(format_args!("{} written to {output}", count(kernels.len())))
}

fn count(kernels: usize) -> String {
    format!("{kernels} kernel{}", if kernels == 1 { "" } else { "s" })
}
