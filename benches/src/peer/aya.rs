//! aya-obj, used as in `aya::EbpfLoader`: parse the BTF file, parse the object, call `relocate_btf`.
//!
//! `fixup_and_sanitize_btf`, which aya's loader calls before for the running kernel, is left out.

use super::prepared::Prepared;
use aya_obj::{Object, btf::Btf};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The peer aya-obj.
pub struct Aya {
    target: PathBuf,
    objects: Vec<PathBuf>,
}

impl Aya {
    pub fn new(target: &Path, objects: &[PathBuf]) -> Self {
        Self { target: target.to_path_buf(), objects: objects.to_vec() }
    }

    fn target(&self) -> Result<Btf, String> {
        Btf::parse_file(&self.target, object::Endianness::default()).map_err(|e| e.to_string())
    }
}

impl Prepared for Aya {
    fn parse_target(&self) -> Result<(), String> {
        self.target().map(drop)
    }

    fn relocate(&self, shared: bool) -> Result<(), String> {
        if !shared {
            return self.objects.iter().try_for_each(|path| relocate(path, &self.target()?));
        }
        let target = self.target()?;
        self.objects.iter().try_for_each(|path| relocate(path, &target))
    }
}

fn relocate(path: &Path, target: &Btf) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut object = Object::parse(&bytes).map_err(|e| e.to_string())?;
    object.relocate_btf(target).map_err(|e| format!("{e:?}"))?;
    std::hint::black_box(object);
    Ok(())
}
