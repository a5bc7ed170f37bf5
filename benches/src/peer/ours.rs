//! core-relo, by the public functions of the crates.

use super::prepared::Prepared;
use crate::files::files_below;
use core_relo::{
    Plan, Relocs, Target,
    btf::{Btf, ModuleFilter},
};
use core_relo_loader::{
    Loader,
    object::Object,
    target::{BtfFile, running_kernel_btf},
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The peer core-relo.
pub struct Ours {
    target: PathBuf,
    objects: Vec<PathBuf>,
    load: fn(&[PathBuf]) -> Result<(), String>,
}

impl Ours {
    /// Creates a peer that relocates. A program with this function only does not link the loader, which is
    /// half of the code.
    pub fn new(target: &Path, objects: &[PathBuf]) -> Self {
        let load = |_: &[PathBuf]| Err("prepared without loading".to_owned());
        Self { target: target.to_path_buf(), objects: objects.to_vec(), load }
    }

    /// Returns the peer with the ability to load.
    pub fn with_load(self) -> Self {
        Self { load, ..self }
    }
}

/// Parses the target without an index. For a directory, parses its `vmlinux`.
pub fn target(path: &Path) -> Result<Target<'static>, String> {
    let vmlinux = if path.is_dir() { &path.join("vmlinux") } else { path };
    let btf =
        BtfFile::open(vmlinux).and_then(|file| file.parse_unvalidated(None)).map_err(|e| e.to_string())?;
    Ok(Target::new("vmlinux", Arc::new(btf)))
}

/// Adds the modules of a directory that may have the missing types, as the command does.
fn with_modules(
    target: Target<'static>,
    dir: &Path,
    module_filter: &mut ModuleFilter<'_, '_>,
) -> Result<Target<'static>, String> {
    let (mut modules, mut excluded) = (Vec::new(), Vec::new());
    let vmlinux = Arc::clone(&target.vmlinux().btf);
    for path in files_below(dir).into_iter().filter(|path| !path.ends_with("vmlinux")) {
        let file = BtfFile::open(&path).map_err(|e| e.to_string())?;
        let name = path.to_string_lossy().into_owned();
        if file.may_contain(module_filter) {
            let btf = file.parse_unvalidated(Some(&vmlinux)).map_err(|e| e.to_string())?;
            modules.push((name, Arc::new(btf)));
        } else {
            excluded.push(name);
        }
    }
    Ok(target.with_modules(modules).with_excluded_modules(excluded, module_filter))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

impl Prepared for Ours {
    fn parse_target(&self) -> Result<(), String> {
        target(&self.target).map(drop)
    }

    fn validate_target(&self) -> Result<(), String> {
        // Validate BTF from sysfs as well, which `BtfFile::parse` trusts.
        let file = BtfFile::open(&self.target).map_err(|e| e.to_string())?;
        Btf::parse(file.btf).map(drop).map_err(|e| e.to_string())
    }

    fn relocate(&self, shared: bool) -> Result<(), String> {
        if !shared {
            return self.objects.iter().try_for_each(|path| relocate(path, &self.target));
        }
        let target = target(&self.target)?;
        with_relocs(&self.objects, |relocs| {
            for plan in Plan::for_objects(relocs, &target) {
                std::hint::black_box(plan.patched().map_err(|e| e.to_string())?);
            }
            Ok(())
        })
    }

    fn load(&self) -> Result<(), String> {
        (self.load)(&self.objects)
    }

    fn kernels(&self) -> Result<(), String> {
        let list = fs::read_to_string(&self.target).map_err(|e| e.to_string())?;
        with_relocs(&self.objects, |relocs| {
            for kernel in list.lines() {
                let target = target(Path::new(kernel))?;
                for plan in Plan::for_objects(relocs, &target) {
                    std::hint::black_box(plan.summary());
                }
            }
            Ok(())
        })
    }
}

/// Opens all objects and calls `then` with their relocations.
fn with_relocs(
    paths: &[PathBuf],
    then: impl FnOnce(&[&Relocs<'_>]) -> Result<(), String>,
) -> Result<(), String> {
    let bytes = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let objects = bytes.iter().map(|bytes| Object::parse(bytes)).collect::<Result<Vec<_>, _>>();
    let objects = objects.map_err(|e| e.to_string())?;
    let relocs = objects.iter().map(Object::relocs).collect::<Result<Vec<_>, _>>();
    let relocs = relocs.map_err(|e| e.to_string())?;
    then(&relocs.iter().collect::<Vec<_>>())
}

/// Loads the objects into the running kernel, one after the other.
fn load(objects: &[PathBuf]) -> Result<(), String> {
    // All objects share the kernel's types, which the first load parses.
    let _types = running_kernel_btf();
    for path in objects {
        let bytes = read(path)?;
        let object = Object::parse(&bytes).map_err(|e| e.to_string())?;
        drop(Loader::new(&object).name(name(path)).load().map_err(|e| e.to_string())?);
    }
    Ok(())
}

/// Returns the object name of a file as libbpf derives it.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Relocates an object and returns after all sections are patched.
fn relocate(path: &Path, kernel: &Path) -> Result<(), String> {
    let kernel_alone = target(kernel)?;
    let bytes = read(path)?;
    let object = Object::parse(&bytes).map_err(|e| e.to_string())?;
    let relocs = object.relocs().map_err(|e| e.to_string())?;
    let plan = Plan::new(&relocs, &kernel_alone);
    let patched = if kernel.is_dir() && plan.needs_modules() {
        let mut module_filter = ModuleFilter::new(&kernel_alone.vmlinux().btf, plan.names_for_modules());
        let target = with_modules(kernel_alone.clone(), kernel, &mut module_filter)?;
        Plan::new(&relocs, &target).patched()
    } else {
        plan.patched()
    };
    std::hint::black_box(patched.map_err(|e| e.to_string())?);
    Ok(())
}
