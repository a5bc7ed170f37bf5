//! `kernels fetch`: downloads kernels.

use crate::{
    args::kernels::KernelsFetchArgs,
    console::Console,
    error::CommandResult,
    fetched::{kernel_set::KernelSet, project::KernelProject},
    format::Format,
    json::kernels::StoredKernelJson,
    text::line::Line,
};
use core_relo_kernels::fetch::Store;

pub(super) fn run(console: &mut Console<'_>, args: &KernelsFetchArgs) -> CommandResult {
    let project = KernelProject::new(&args.config, &args.mirrors.mirror)?;
    let mode = args.mode.mode();
    let specs = project.specs(&args.specs, mode)?;
    let store = Store::of_user()?;
    let set = KernelSet {
        project: &project,
        store: &store,
        options: args.mirrors.options().from_debuginfo(args.from_debuginfo),
        mode,
        max_kernels: args.max_kernels,
    };
    for result in set.fetch(&specs)? {
        if let Ok(kernel) = &result
            && let Err(error) = set.fetch_modules(kernel, &args.modules)
        {
            console.report_error(&error)?;
        }
        match result {
            Ok(kernel) if args.format == Format::Json => console.out.json(&StoredKernelJson::new(&kernel))?,
            Ok(kernel) => {
                let (name, btf) = (kernel.manifest.kernel.name(), kernel.btf());
                console.out.line(Line::new().text(name).text("  ").text(btf.display()))?;
            }
            Err(error) => console.report_error(&error.into())?,
        }
    }
    Ok(())
}
