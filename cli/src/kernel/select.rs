//! The objects a user asks for: by id, by name, by pin.

use super::{Found, Kind, all, link::STRUCT_OPS, pins, refused};
use crate::{
    args_kernel::Which,
    error::{BadInput, shown},
};
use core_relo_loader::sys::{self, Errno, ProgInfo};
use std::{
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

/// The ones asked for, one at least; several may have one name.
pub(crate) fn selected(kind: Kind, which: &Which) -> Result<Vec<Found>, BadInput> {
    let list = format!("`core-relo {} list` shows what there is", kind.command());
    if let Some(id) = which.id {
        return match kind.open(id) {
            Ok(fd) => Ok(vec![Found { kind, id, fd: Some(fd) }]),
            Err(e) if e.name() == Some("ENOENT") => {
                Err(BadInput::new(format!("id {id}"), format_args!("no such {}", kind.noun())).help(list))
            }
            Err(e) => Err(refused(kind, &format!("open id {id} of"), e)),
        };
    }
    if let Some(path) = &which.pinned {
        return Ok(vec![pinned(kind, path)?]);
    }
    let wanted = which.name.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    for Found { id, .. } in all(kind)? {
        // Closed again: many may have the name.
        let one = Found { kind, id, fd: None };
        if one.open()?.is_some_and(|fd| is_called(kind, &fd, wanted)) {
            found.push(Found { kind, id, fd: None });
        }
    }
    if found.is_empty() {
        return Err(BadInput::new(shown(Path::new(wanted)), format_args!("no {} of this name", kind.noun()))
            .help(list));
    }
    Ok(found)
}

fn pinned(kind: Kind, path: &Path) -> Result<Found, BadInput> {
    let refused = |errno: Errno| {
        let bad = BadInput::at(path, format_args!("cannot open the pin: {errno}"));
        match errno.name() {
            Some("ENOENT") => bad.help(format!("`core-relo {} list` shows what is pinned", kind.command())),
            Some("EPERM" | "EINVAL") => bad.help("is it below a mounted bpffs, and may this user read it?"),
            _ => bad,
        }
    };
    let (found, fd) = pins::open(path).map_err(refused)?;
    if found.is_some_and(|found| found != kind) {
        let found = found.map_or("something else", Kind::noun);
        let what = format!("a {found} is pinned there, no {}", kind.noun());
        return Err(BadInput::at(path, what));
    }
    Ok(Found { kind, id: pins::id_of(kind, &fd).map_err(refused)?, fd: Some(fd) })
}

/// Whether an object has this name, or the 15 bytes that the kernel keeps of it.
fn is_called(kind: Kind, fd: &OwnedFd, wanted: &str) -> bool {
    match kind {
        Kind::Prog => sys::prog_info(fd).is_ok_and(|info| {
            let name = info.name();
            name == wanted || (is_cut(&name) && wanted.starts_with(&name) && full_name(fd, &info) == wanted)
        }),
        Kind::Map => sys::map_info(fd).is_ok_and(|info| {
            let name = info.name();
            name == wanted || (is_cut(&name) && wanted.starts_with(&name))
        }),
        Kind::Btf => sys::btf_name(fd).is_ok_and(|name| name == wanted),
        Kind::Link => link_names(fd).iter().any(|name| name == wanted),
    }
}

/// A link has no name: its program's, or its struct_ops map's, counts.
fn link_names(fd: &OwnedFd) -> Vec<String> {
    let Ok(info) = sys::link_info(fd) else { return Vec::new() };
    let program = Kind::Prog.open(info.prog_id).ok().and_then(|fd| {
        let info = sys::prog_info(&fd).ok()?;
        Some([info.name(), full_name(&fd, &info)])
    });
    let map = (info.link_type == STRUCT_OPS)
        .then(|| Kind::Map.open(info.detail.first().copied().unwrap_or_default()).ok())
        .flatten()
        .and_then(|fd| sys::map_info(&fd).ok())
        .map(|info| info.name());
    program.into_iter().flatten().chain(map).collect()
}

/// Whether the kernel may have cut a name.
fn is_cut(name: &str) -> bool {
    name.len() + 1 >= sys::OBJ_NAME_LEN
}

/// A program's whole name, which its BTF has where the kernel cut it.
pub(crate) fn full_name(fd: &impl AsFd, info: &ProgInfo) -> String {
    let name = info.name();
    if !is_cut(&name) || info.btf_id == 0 {
        return name;
    }
    let whole = || {
        let btf = super::types::program_btf(info.btf_id).ok()?;
        let [_, ty] = sys::prog_lines(fd).ok()?.functions.first().copied()?;
        let whole = btf.ty(core_relo::TypeId(ty))?.name().to_string();
        whole.starts_with(&name).then_some(whole)
    };
    whole().unwrap_or(name)
}
