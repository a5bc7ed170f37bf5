//! Modules in packages, read when types or functions of modules are needed.

use crate::{
    btf_file::{
        package_kernel::{is_package, open_path},
        read_bytes,
    },
    error::{Defect, InputError},
    file::InputFile,
    kernel::module::{module_name, parse_split},
    limits::Limits,
    package::{KernelFile, KernelFileKind, PackageFile},
    stream::Descriptor,
};
use core_relo::btf::Btf;
use core_relo_loader::target::BtfFile;
use core_relo_verdict::kernel::WantedFacts;
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The name and the BTF of a module.
type NamedModule = (String, Arc<Btf<'static>>);

/// The packages of a kernel, which may contain modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModulePackages {
    paths: Vec<PathBuf>,
    limits: Limits,
}

/// The BTF of a module.
pub(super) struct ModuleFile {
    pub(super) name: String,
    /// The path, for messages.
    pub(super) path: PathBuf,
    pub(super) btf: BtfFile,
}

/// Returns whether the file at a path is a package. A stream is none.
pub(super) fn is_package_path(path: &Path, limits: Limits) -> Result<bool, InputError> {
    if Descriptor::from_path(path).is_some() {
        return Ok(false);
    }
    Ok(is_package(path, &InputFile::open(path, limits.bytes)?.head))
}

impl ModulePackages {
    pub(super) fn new(paths: Vec<PathBuf>, limits: Limits) -> Self {
        Self { paths, limits }
    }

    /// Passes the BTF of each module to `visit`, or the error of a module or package. Modules without BTF are
    /// left out. A file that is no package contains no modules.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(Result<ModuleFile, InputError>) -> ControlFlow<()>) {
        for path in &self.paths {
            let visited = open_path(path, self.limits).and_then(|package| {
                let Some(package) = package else { return Ok(()) };
                package.visit_files(&mut |file| match self.read_module(file) {
                    Some(module) => visit(module),
                    None => ControlFlow::Continue(()),
                })
            });
            if let Err(e) = visited
                && visit(Err(e)).is_break()
            {
                return;
            }
        }
    }

    /// Reads all modules.
    pub(super) fn read_all(&self, base: &Arc<Btf<'static>>) -> Result<Vec<NamedModule>, InputError> {
        let mut modules = Ok(Vec::new());
        self.visit(&mut |module| {
            let parsed = module.and_then(|ModuleFile { name, path, btf }| {
                Ok((name, Arc::new(parse_split(&path, &btf, base)?)))
            });
            match (&mut modules, parsed) {
                (Ok(modules), Ok(module)) => modules.push(module),
                (_, Err(e)) => modules = Err(e),
                (Err(_), Ok(_)) => {}
            }
            if modules.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        modules
    }

    /// Reads the BTF of a module. Returns `None` for other files, and for a module without BTF.
    fn read_module(&self, file: PackageFile<'_>) -> Option<Result<ModuleFile, InputError>> {
        KernelFile::from_path(&file.path).filter(|file| file.kind == KernelFileKind::Module)?;
        let (path, name) = (file.name().to_path_buf(), module_name(&file.path));
        let found = file
            .read_with_budget(self.limits.bytes)
            .and_then(|(bytes, budget)| read_bytes(&path, bytes, &budget, WantedFacts::default()));
        match found {
            Ok((btf, _no_facts)) => Some(Ok(ModuleFile { name, path, btf })),
            Err(e) if e.defect == Defect::NoBtf => {
                log::debug!("{e}");
                None
            }
            Err(e) => Some(Err(e)),
        }
    }
}
