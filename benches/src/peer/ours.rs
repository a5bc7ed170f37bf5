//! core-relo, through the crates' public functions, as the command calls them.

use super::Prepared;
use core_relo::{Plan, Target, btf::NameIndex};
use core_relo_loader::{object::Object, target::TargetFile};
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

/// The target as it is for one object: nothing made for many.
pub fn target(path: &Path) -> Result<Target<'static>, String> {
    let file = TargetFile::open(path).map_err(|e| e.to_string())?;
    Ok(Target::new("vmlinux", Arc::new(file.parse(None).map_err(|e| e.to_string())?)))
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
        let index = Arc::new(NameIndex::new(&target.main().btf));
        let target = target.with_index(index);
        self.objects.iter().try_for_each(|path| relocate(path, &target))
    }
}

/// Up to the finished instructions of every section.
fn relocate(path: &Path, target: &Target<'_>) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let object = Object::parse(&bytes).map_err(|e| e.to_string())?;
    let relocs = object.relocs().map_err(|e| e.to_string())?;
    let patched = Plan::new(&relocs, target).patched().map_err(|e| e.to_string())?;
    std::hint::black_box(patched);
    Ok(())
}
