//! The names of objects. The kernel keeps the first 15 bytes of a name.

use super::btf_cache::program_btf;
use crate::sys::{self, LinkInfo, MapInfo, ObjectKind, ProgramInfo, ProgramLines};
use core_relo::TypeId;
use core_relo_object::object::LinkType;
use std::os::fd::{AsFd, OwnedFd};

/// The bytes of a name that the kernel keeps, which stores a NUL after them.
const KEPT_NAME_BYTES: usize = sys::OBJ_NAME_LEN - 1;

/// Returns whether an object has this name, or the first 15 bytes of the name, which the kernel keeps.
pub(super) fn has_name(kind: ObjectKind, fd: &OwnedFd, wanted: &str) -> bool {
    match kind {
        ObjectKind::Program => ProgramInfo::query(fd).is_ok_and(|info| {
            let name = info.name();
            name == wanted
                || (may_be_truncated(&name)
                    && wanted.starts_with(&name)
                    && full_program_name(fd, &info) == wanted)
        }),
        ObjectKind::Map => MapInfo::query(fd).is_ok_and(|info| {
            let name = info.name();
            is_kept_name(&name, wanted.as_bytes()) || (wanted.starts_with('.') && has_section(&name, wanted))
        }),
        ObjectKind::Btf => sys::btf_name(fd).is_ok_and(|name| name == wanted),
        ObjectKind::Link => LinkInfo::query(fd).is_ok_and(|info| link_has_name(&info, wanted)),
    }
}

/// Returns the name of an object; of a link, the name of its program. Empty for an object without a name.
pub fn object_name(kind: ObjectKind, fd: &OwnedFd) -> String {
    let name = match kind {
        ObjectKind::Program => ProgramInfo::query(fd).map(|info| full_program_name(fd, &info)).ok(),
        ObjectKind::Map => MapInfo::query(fd).map(|info| info.name()).ok(),
        ObjectKind::Btf => sys::btf_name(fd).ok(),
        ObjectKind::Link => LinkInfo::query(fd).ok().and_then(|info| {
            let program = ObjectKind::Program.open(info.prog_id).ok()?;
            Some(full_program_name(&program, &ProgramInfo::query(&program).ok()?))
        }),
    };
    #[expect(clippy::disallowed_methods, reason = "the object has no name, or is gone")]
    name.unwrap_or_default()
}

/// Returns whether the map of a data section has the name of this section: `.rodata` for `my_objec.rodata`.
fn has_section(map_name: &str, section: &str) -> bool {
    let Some(own_section) = map_name.find('.').and_then(|dot| map_name.get(dot..)) else { return false };
    own_section == section || (may_be_truncated(map_name) && section.starts_with(own_section))
}

/// Returns whether a link's program has this name, or the map of a struct_ops link. Links have no names
/// themselves.
fn link_has_name(link: &LinkInfo, wanted: &str) -> bool {
    let program_has_name = || {
        let fd = ObjectKind::Program.open(link.prog_id).ok()?;
        let info = ProgramInfo::query(&fd).ok()?;
        Some(info.name() == wanted || full_program_name(&fd, &info) == wanted)
    };
    let map_has_name = || {
        let map_id = *link.detail.first().filter(|_| link.link_type == LinkType::StructOps.number())?;
        let info = MapInfo::query(&ObjectKind::Map.open(map_id).ok()?).ok()?;
        Some(info.name() == wanted)
    };
    program_has_name() == Some(true) || map_has_name() == Some(true)
}

/// Returns whether the kernel keeps `kept` of the name `whole`.
pub fn is_kept_name(kept: &str, whole: &[u8]) -> bool {
    kept.as_bytes() == whole || (may_be_truncated(kept) && whole.starts_with(kept.as_bytes()))
}

/// Returns whether the kernel may have truncated a name.
fn may_be_truncated(name: &str) -> bool {
    name.len() >= KEPT_NAME_BYTES
}

/// Returns a program's whole name. The program's BTF has it where the kernel has truncated it.
pub fn full_program_name(fd: &impl AsFd, info: &ProgramInfo) -> String {
    let name = info.name();
    if !may_be_truncated(&name) {
        return name;
    }
    main_function(fd, info).filter(|full_name| full_name.starts_with(&name)).unwrap_or(name)
}

/// Returns the name of a program's first function in its BTF. `None` if the program was loaded without BTF.
pub fn main_function(fd: &impl AsFd, info: &ProgramInfo) -> Option<String> {
    if info.btf_id == 0 {
        return None;
    }
    let btf = program_btf(info.btf_id)?;
    let [_, ty] = ProgramLines::query(fd).ok()?.functions.first().copied()?;
    Some(btf.ty(TypeId(ty))?.name().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_keeps_15_bytes() {
        assert!(is_kept_name("events", b"events") && !is_kept_name("events", b"events_of_files"));
        assert!(
            is_kept_name("events_of_a_lon", b"events_of_a_long_name")
                && !is_kept_name("events_of_a_lon", b"other")
        );
    }

    #[test]
    fn data_maps_have_the_name_of_their_section() {
        assert!(has_section("exec.rodata", ".rodata") && has_section(".rodata", ".rodata"));
        assert!(has_section("exec.rodata.str", ".rodata.str") && !has_section("exec.rodata.str", ".rodata"));
        assert!(!has_section("exec.data", ".rodata") && !has_section("rodata", ".rodata"));
        // 15 bytes: the kernel may have truncated the name.
        assert!(has_section(".rodata.abracad", ".rodata.abracadabra"));
        assert!(!has_section(".rodata.abra", ".rodata.abracadabra"));
    }
}
