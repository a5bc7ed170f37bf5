//! `kernels list`: the kernels that specifications select on the mirrors.

use crate::{
    args::kernels::KernelsListArgs,
    cmd::rows::Rows,
    console::Console,
    error::CommandResult,
    fetched::{progress::DownloadProgress, project::KernelProject},
    format::Format,
    input::fetched_args::FetchMode,
    json::kernels::ListedKernel,
    text::table::{left_cell, right_cell},
};
use core_relo_kernels::fetch::{Fetcher, Store};
use std::collections::BTreeSet;

pub(super) fn run(console: &mut Console<'_>, args: &KernelsListArgs) -> CommandResult {
    let project = KernelProject::new(&args.config, &args.mirrors.mirror)?;
    let specs = project.specs(&args.specs, FetchMode::Online)?;
    let store = Store::of_user()?;
    let (mut rows, mut known) = (Vec::new(), BTreeSet::new());
    {
        let progress = DownloadProgress::new();
        let fetcher = Fetcher::new(&project.mirrors, &store, args.mirrors.options(), &progress);
        for spec in &specs {
            match fetcher.find(spec) {
                Ok(kernels) => {
                    for kernel in kernels.into_iter().filter(|kernel| known.insert(kernel.key())) {
                        rows.push(ListedKernel::new(&kernel, store.find(&kernel)?.is_some()));
                    }
                }
                Err(error) => console.report_error(&error.into())?,
            }
        }
    }
    if rows.is_empty() && args.format == Format::Text {
        return Ok(());
    }
    let columns = ["NAME", "VERSION", "ARCH", "FLAVOUR", "MIB", "FETCHED"];
    let rows = Rows { columns: &columns, rows: &rows, placeholder: "no kernels" };
    Ok(rows.write(console, args.format, |kernel| {
        vec![
            left_cell(&kernel.name),
            left_cell(&kernel.version),
            left_cell(&kernel.architecture),
            left_cell(&kernel.flavour),
            right_cell(mebibytes(kernel.download_bytes)),
            left_cell(if kernel.is_fetched { "yes" } else { "no" }),
        ]
    })?)
}

/// Returns bytes in MiB, rounded up.
pub(super) const fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}
