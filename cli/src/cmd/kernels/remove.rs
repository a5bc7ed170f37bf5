//! `kernels remove`: removes fetched kernels.

use crate::{
    args::kernels::KernelsRemoveArgs, console::Console, error::CommandResult,
    fetched::project::stored_kernels, json::kernels::StoredKernelJson, text::line::Line,
};
use core_relo_kernels::fetch::Store;

pub(super) fn run(console: &mut Console<'_>, args: &KernelsRemoveArgs) -> CommandResult {
    let store = Store::of_user()?;
    // With `--all`, there are no specifications.
    for kernel in stored_kernels(&store, &args.specs)? {
        store.remove(&kernel)?;
        let line = Line::new().text("removed ").text(kernel.manifest.kernel.name());
        console.report_change(args.format, &StoredKernelJson::new(&kernel), &line)?;
    }
    Ok(())
}
