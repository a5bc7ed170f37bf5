//! core-relo, through the crates' public functions, as the command calls them.

use super::Prepared;
use crate::corpus::files_below;
use core_relo::{Plan, Relocs, Target, btf::Btf};
use core_relo_loader::{
    Loader,
    object::Object,
    target::{KernelTypes, TargetFile},
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

pub struct Ours {
    target: PathBuf,
    objects: Vec<PathBuf>,
}

impl Ours {
    pub fn new(target: &Path, objects: &[PathBuf]) -> Self {
        Self { target: target.to_path_buf(), objects: objects.to_vec() }
    }
}

/// The target as it is for one object, nothing made for many; of a folder, its `vmlinux` and all else as modules.
pub fn target(path: &Path) -> Result<Target<'static>, String> {
    if !path.is_dir() {
        return Ok(Target::new("vmlinux", Arc::new(btf(path, None)?)));
    }
    let main = Arc::new(btf(&path.join("vmlinux"), None)?);
    let mut modules = Vec::new();
    for path in files_below(path).into_iter().filter(|path| !path.ends_with("vmlinux")) {
        modules.push((path.to_string_lossy().into_owned(), Arc::new(btf(&path, Some(&main))?)));
    }
    Ok(Target::new("vmlinux", main).with_modules(modules))
}

fn btf(path: &Path, base: Option<&Arc<Btf<'static>>>) -> Result<Btf<'static>, String> {
    TargetFile::open(path).and_then(|file| file.parse(base)).map_err(|e| e.to_string())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

impl Prepared for Ours {
    fn parse_target(&self) -> Result<(), String> {
        target(&self.target).map(drop)
    }

    fn relocate(&self, shared: bool) -> Result<(), String> {
        if !shared {
            return self.objects.iter().try_for_each(|path| relocate(path, &target(&self.target)?));
        }
        let target = target(&self.target)?;
        with_relocs(&self.objects, |relocs| {
            for plan in Plan::many(relocs, &target) {
                std::hint::black_box(plan.patched().map_err(|e| e.to_string())?);
            }
            Ok(())
        })
    }

    fn load(&self) -> Result<(), String> {
        // Parsed with the first object of a run that wants it, let go with the run.
        let _shared = KernelTypes::running();
        for path in &self.objects {
            let bytes = read(path)?;
            let object = Object::parse(&bytes).map_err(|e| e.to_string())?;
            drop(Loader::new(&object).name(name(path)).load().map_err(|e| e.to_string())?);
        }
        Ok(())
    }

    fn kernels(&self) -> Result<(), String> {
        let list = fs::read_to_string(&self.target).map_err(|e| e.to_string())?;
        with_relocs(&self.objects, |relocs| {
            for kernel in list.lines() {
                let target = target(Path::new(kernel))?;
                for plan in Plan::many(relocs, &target) {
                    std::hint::black_box(plan.summary());
                }
            }
            Ok(())
        })
    }
}

/// Opens all objects, and does something with their relocations.
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

/// An object's name, as libbpf makes it of a file's.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Up to the finished instructions of every section.
fn relocate(path: &Path, target: &Target<'_>) -> Result<(), String> {
    let bytes = read(path)?;
    let object = Object::parse(&bytes).map_err(|e| e.to_string())?;
    let relocs = object.relocs().map_err(|e| e.to_string())?;
    let patched = Plan::new(&relocs, target).patched().map_err(|e| e.to_string())?;
    std::hint::black_box(patched);
    Ok(())
}
