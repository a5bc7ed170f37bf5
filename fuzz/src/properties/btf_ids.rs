//! Properties of `.BTF_ids`: resolving fills in what the check expects, and changes nothing else.

use super::kernel;
use core_relo_loader::btf_ids::BtfIds;

/// Parses, checks and resolves the ids of a file with the types of a small kernel.
pub fn check(file: &[u8]) {
    let Ok(ids) = BtfIds::parse(file) else { return };
    let btf = kernel::btf();
    let _problems = ids.check(&btf);
    let Ok(resolved) = ids.resolve(&btf) else { return };
    assert_eq!(resolved.file.len(), file.len());
    let after = BtfIds::parse(&resolved.file).expect("only the section has changed");
    assert_eq!(after.sets().len(), ids.sets().len());
    if resolved.missing.is_empty() {
        let problems = after.check(&btf);
        assert!(problems.iter().all(Vec::is_empty), "{problems:?}");
    }
}
