//! Modules of a kernel that have not been read.

use crate::kernel::{
    module::module_name,
    module_packages::{ModuleFile, ModulePackages},
};
use core_relo_loader::target::{self, BtfFile};
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// The modules of a kernel that have not been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FurtherModules {
    None,
    /// Those of the running kernel.
    Running,
    /// Those in a directory of BTF files.
    InDirectory(PathBuf),
    /// Those in the packages of the kernel.
    InPackages(ModulePackages),
}

impl FurtherModules {
    /// Passes the name and the BTF of each module to `visit`. Modules that cannot be read are left out with a
    /// warning.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(String, BtfFile)) {
        match self {
            Self::None => {}
            Self::Running => visit_running(visit),
            Self::InDirectory(dir) => visit_directory(dir, visit),
            Self::InPackages(packages) => packages.visit(&mut |module| {
                match module {
                    Ok(ModuleFile { name, btf, .. }) => visit(name, btf),
                    Err(e) => log::warn!("a module is left out: {e}"),
                }
                ControlFlow::Continue(())
            }),
        }
    }
}

fn visit_running(visit: &mut dyn FnMut(String, BtfFile)) {
    let files = target::modules().unwrap_or_else(|e| {
        log::warn!("modules of the running kernel are left out: {e}");
        Vec::new()
    });
    for module in files {
        match module.open() {
            Ok(file) => visit(module.name, file),
            Err(e) => log::warn!("a module is left out: {e}"),
        }
    }
}

/// Visits the modules in a directory, by name. A kernel without modules has no directory.
fn visit_directory(dir: &Path, visit: &mut dyn FnMut(String, BtfFile)) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match BtfFile::open(&path) {
            Ok(file) => visit(module_name(&path), file),
            Err(e) => log::warn!("a module is left out: {e}"),
        }
    }
}
