//! Properties of static linking: the output has a bounded size and is a valid object.

use super::types;
use core_relo_loader::{object::Object, static_link::Linker, target};

/// Links files in the given order.
pub fn check(files: &[&[u8]]) {
    let Ok(linker) = files.iter().try_fold(Linker::new(), |linker, bytes| linker.add("fuzz", bytes)) else {
        return;
    };
    let Ok(once) = linker.finish() else { return };
    let all = files.iter().map(|bytes| bytes.len()).sum::<usize>();
    assert!(once.len() <= (all * 16).max(32 << 20), "{} bytes of {all}", once.len());
    let _twice = Linker::new().add("once", &once).and_then(Linker::finish);
    let _parsed = Object::parse(&once).map(|object| object.programs().len());
    if let Ok(elf) = target::extract(&once) {
        types::check(elf.btf, None);
    }
}
