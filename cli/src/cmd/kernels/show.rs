//! `kernels show`: the kernels that have been fetched, and where they are from.

use super::list::mebibytes;
use crate::{
    args::kernels::KernelsShowArgs,
    cmd::rows::Rows,
    console::Console,
    error::CommandResult,
    fetched::project::stored_kernels,
    json::kernels::StoredKernelJson,
    text::table::{left_cell, right_cell},
};
use core_relo_kernels::fetch::Store;

pub(super) fn run(console: &mut Console<'_>, args: &KernelsShowArgs) -> CommandResult {
    let store = Store::of_user()?;
    let kernels = stored_kernels(&store, &args.specs)?;
    let rows: Vec<_> = kernels.iter().map(StoredKernelJson::new).collect();
    let columns = ["NAME", "VERSION", "ARCH", "MODULES", "MIB", "PROTECTED BY"];
    let rows = Rows { columns: &columns, rows: &rows, placeholder: "no kernels have been fetched" };
    Ok(rows.write(console, args.format, |kernel| {
        vec![
            left_cell(&kernel.name),
            left_cell(&kernel.manifest.kernel.version),
            left_cell(&kernel.manifest.kernel.architecture),
            right_cell(kernel.manifest.module_count),
            right_cell(mebibytes(kernel.bytes)),
            left_cell(&kernel.manifest.kernel.protection),
        ]
    })?)
}
