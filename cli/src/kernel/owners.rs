//! Which processes hold what: through `/proc/PID/fd`, as far as this process may look.

use super::{Kind, Owner, fdinfo_value};
use std::{collections::BTreeMap, fs, path::Path, process};

/// Every process's programs, maps, links and BTFs, this one's left out.
pub(crate) fn all() -> BTreeMap<(Kind, u32), Vec<Owner>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some(pid) = pid.filter(|pid| *pid != process::id()) {
            of_process(&entry.path(), pid, &mut found);
        }
    }
    for owners in found.values_mut() {
        owners.sort();
        owners.dedup();
    }
    found
}

fn of_process(folder: &Path, pid: u32, found: &mut BTreeMap<(Kind, u32), Vec<Owner>>) {
    for fd in fs::read_dir(folder.join("fd")).into_iter().flatten().flatten() {
        let target = fs::read_link(fd.path()).ok();
        let Some(kind) = target.as_deref().and_then(Path::to_str).and_then(Kind::of_link_text) else {
            continue;
        };
        let key = match kind {
            Kind::Prog => "prog_id",
            Kind::Map => "map_id",
            Kind::Link => "link_id",
            Kind::Btf => "btf_id",
        };
        let info = fs::read_to_string(folder.join("fdinfo").join(fd.file_name())).ok();
        let id = info.and_then(|text| fdinfo_value(&text, key)).and_then(|id| u32::try_from(id).ok());
        if let Some(id) = id {
            let comm = fs::read(folder.join("comm")).unwrap_or_default();
            let comm = core_relo::Name::new(comm.trim_ascii_end()).to_string();
            found.entry((kind, id)).or_default().push(Owner { pid, comm });
        }
    }
}
