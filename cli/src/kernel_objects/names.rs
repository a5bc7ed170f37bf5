//! The names of objects. The kernel keeps the first 15 bytes of a name.

use super::{btf_cache::program_btf, kind::Kind, link_target::STRUCT_OPS};
use core_relo::TypeId;
use core_relo_loader::sys::{self, LinkInfo, ProgInfo};
use std::os::fd::{AsFd, OwnedFd};

/// Returns whether an object has this name, or the first 15 bytes of the name, which the kernel keeps.
pub(super) fn has_name(kind: Kind, fd: &OwnedFd, wanted: &str) -> bool {
    match kind {
        Kind::Prog => sys::prog_info(fd).is_ok_and(|info| {
            let name = info.name();
            name == wanted
                || (may_be_truncated(&name)
                    && wanted.starts_with(&name)
                    && full_program_name(fd, &info) == wanted)
        }),
        Kind::Map => sys::map_info(fd).is_ok_and(|info| {
            let name = info.name();
            is_kept_name(&name, wanted.as_bytes()) || (wanted.starts_with('.') && has_section(&name, wanted))
        }),
        Kind::Btf => sys::btf_name(fd).is_ok_and(|name| name == wanted),
        Kind::Link => sys::link_info(fd).is_ok_and(|info| link_has_name(&info, wanted)),
    }
}

/// Returns the name of an object; of a link, the name of its program. Empty for an object without a name.
pub(crate) fn object_label(kind: Kind, fd: &OwnedFd) -> String {
    let name = match kind {
        Kind::Prog => sys::prog_info(fd).map(|info| full_program_name(fd, &info)).ok(),
        Kind::Map => sys::map_info(fd).map(|info| info.name()).ok(),
        Kind::Btf => sys::btf_name(fd).ok(),
        Kind::Link => sys::link_info(fd).ok().and_then(|info| {
            let program = Kind::Prog.open(info.prog_id).ok()?;
            Some(full_program_name(&program, &sys::prog_info(&program).ok()?))
        }),
    };
    name.unwrap_or_default()
}

/// Returns whether the map of a data section has the name of this section: `.rodata` for `my_objec.rodata`.
fn has_section(map_name: &str, section: &str) -> bool {
    let Some((dot, _)) = map_name.match_indices('.').next() else { return false };
    let own_section = map_name.get(dot..).unwrap_or_default();
    own_section == section || (may_be_truncated(map_name) && section.starts_with(own_section))
}

/// Returns whether a link's program has this name, or the map of a struct_ops link. Links have no names themselves.
fn link_has_name(link: &LinkInfo, wanted: &str) -> bool {
    let program_has_name = || {
        let fd = Kind::Prog.open(link.prog_id).ok()?;
        let info = sys::prog_info(&fd).ok()?;
        Some(info.name() == wanted || full_program_name(&fd, &info) == wanted)
    };
    let map_has_name = || {
        let map_id = *link.detail.first().filter(|_| link.link_type == STRUCT_OPS)?;
        let info = sys::map_info(&Kind::Map.open(map_id).ok()?).ok()?;
        Some(info.name() == wanted)
    };
    program_has_name() == Some(true) || map_has_name() == Some(true)
}

/// Returns whether the kernel keeps `kept` of the name `whole`.
pub(crate) fn is_kept_name(kept: &str, whole: &[u8]) -> bool {
    kept.as_bytes() == whole || (may_be_truncated(kept) && whole.starts_with(kept.as_bytes()))
}

/// Returns whether the kernel may have truncated a name.
fn may_be_truncated(name: &str) -> bool {
    name.len() + 1 >= sys::OBJ_NAME_LEN
}

/// Returns a program's whole name. The program's BTF has it where the kernel has truncated it.
pub(crate) fn full_program_name(fd: &impl AsFd, info: &ProgInfo) -> String {
    let name = info.name();
    if !may_be_truncated(&name) {
        return name;
    }
    main_function(fd, info).filter(|full_name| full_name.starts_with(&name)).unwrap_or(name)
}

/// Returns the name of a program's first function in its BTF. `None` if the program was loaded without BTF.
pub(crate) fn main_function(fd: &impl AsFd, info: &ProgInfo) -> Option<String> {
    if info.btf_id == 0 {
        return None;
    }
    let btf = program_btf(info.btf_id).ok()?;
    let [_, ty] = sys::prog_lines(fd).ok()?.functions.first().copied()?;
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
