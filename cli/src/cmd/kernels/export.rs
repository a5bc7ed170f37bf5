//! `kernels export`: copies fetched kernels into a directory.

use crate::{
    args::kernels::KernelsExportArgs,
    console::Console,
    error::{BadInput, CommandResult},
    fetched::project::stored_kernels,
    json::kernels::ExportedKernel,
    text::line::Line,
};
use core_relo_kernels::fetch::{Store, StoredKernel};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub(super) fn run(console: &mut Console<'_>, args: &KernelsExportArgs) -> CommandResult {
    let store = Store::of_user()?;
    for kernel in stored_kernels(&store, &args.specs)? {
        let dir = args.dir.join(directory_name(&kernel));
        copy(&kernel, &dir).map_err(|(path, error)| BadInput::for_path(&path, error))?;
        let name = kernel.manifest.kernel.name();
        let line = Line::new().text("exported ").text(&name).text(" to ").text(dir.display());
        console.report_change(args.format, &ExportedKernel::new(name, &dir), &line)?;
    }
    Ok(())
}

/// Returns the name of the directory for the kernels of a release of a distribution: `debian-12-x86_64`.
fn directory_name(kernel: &StoredKernel) -> String {
    let kernel = &kernel.manifest.kernel;
    format!("{}-{}-{}", kernel.distribution, kernel.distribution_release, kernel.architecture)
}

/// Copies the files of a kernel, but not its image. Their names have the release of the kernel. Returns the
/// file that cannot be copied.
fn copy(kernel: &StoredKernel, dir: &Path) -> Result<(), (PathBuf, io::Error)> {
    let image = kernel.image();
    // The image would be a second kernel beside the BTF.
    let is_evidence =
        |name: &str| !image.ends_with(name) && kernel.manifest.files.iter().any(|file| file.name == name);
    copy_files(&kernel.dir, dir, &is_evidence)?;
    let available = &kernel.manifest.kernel;
    if let Some(distribution) = available.distribution_kernel() {
        let path = dir.join(format!("distribution-{}", available.release));
        fs::write(&path, format!("{distribution}\n")).map_err(|error| (path, error))?;
    }
    let modules = kernel.modules();
    match modules.is_dir() {
        true => copy_files(&modules, &dir.join(&kernel.manifest.kernel.release), &|_| true),
        false => Ok(()),
    }
}

/// Copies the files of a directory whose names a predicate accepts.
fn copy_files(
    from: &Path,
    to: &Path,
    is_included: &dyn Fn(&str) -> bool,
) -> Result<(), (PathBuf, io::Error)> {
    fs::create_dir_all(to).map_err(|error| (to.to_path_buf(), error))?;
    let entries = fs::read_dir(from).map_err(|error| (from.to_path_buf(), error))?;
    for entry in entries {
        let entry = entry.map_err(|error| (from.to_path_buf(), error))?;
        let name = entry.file_name();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && name.to_str().is_some_and(is_included) {
            let target = to.join(&name);
            fs::copy(entry.path(), &target).map_err(|error| (target, error))?;
        }
    }
    Ok(())
}
