//! `link detach` and `link update`.

use crate::{
    args::{object_selector::ObjectChangeArgs, object_words::LinkUpdateArgs},
    cmd::object_change::{ObjectChange, open_and_change},
    console::Console,
    error::BadInput,
    kernel_objects::{
        error::{hint, object_name},
        kind::Kind,
        link_target::{STRUCT_OPS, type_name},
        select::{parse_selector, select_one},
    },
};
use core_relo_loader::sys::{self, Errno, LinkInfo};
use std::{io, os::fd::AsFd as _};

pub(super) fn detach(console: &mut Console<'_>, args: &ObjectChangeArgs) -> io::Result<()> {
    let selected = Ok((args.selector.clone(), &[][..]));
    open_and_change(console, Kind::Link, selected, args.format, |id, fd, _| {
        let info = read_info(id, fd)?;
        sys::link_detach(fd).map_err(|e| refusal(&info, "detached", e))?;
        Ok(ObjectChange::new(Kind::Link, id, "detached"))
    })
}

pub(super) fn update(console: &mut Console<'_>, args: &LinkUpdateArgs) -> io::Result<()> {
    open_and_change(console, Kind::Link, args.object.split(), args.format, |id, fd, words| {
        let info = read_info(id, fd)?;
        // A link of struct_ops has a map in place of a program.
        let kind = if info.link_type == STRUCT_OPS { Kind::Map } else { Kind::Prog };
        let selection = parse_selector(kind, words).map_err(|what| {
            let bad = BadInput::new(object_name(Kind::Link, id, ""), what);
            bad.help(format!("`core-relo {} list` lists them", kind.command()))
        })?;
        let (new_id, new) = select_one(kind, &selection)?;
        sys::link_update(fd, new.as_fd(), None).map_err(|e| refusal(&info, "updated", e))?;
        Ok(ObjectChange::new(Kind::Link, id, "updated").content(kind, new_id))
    })
}

fn read_info(id: u32, fd: &impl std::os::fd::AsFd) -> Result<LinkInfo, BadInput> {
    sys::link_info(fd).map_err(|e| crate::kernel_objects::error::unreadable(Kind::Link, id, "its type", e))
}

/// Returns the error of a change that the kernel refuses.
fn refusal(info: &LinkInfo, change: &str, e: Errno) -> BadInput {
    let bad = BadInput::new(object_name(Kind::Link, info.id, ""), format_args!("cannot be {change}: {e}"));
    let link_type = type_name(info.link_type);
    match e.name() {
        Some("EOPNOTSUPP" | "ENOTSUPP" | "EINVAL") if change == "detached" => bad.help(format!(
            "the kernel does not detach links of this type ({link_type}): such a link ends with its last pin and holder, which \
             `core-relo link show` lists"
        )),
        Some("EINVAL") => bad.help(format!(
            "the kernel does not replace the program of a {link_type} link by this one: is it of the same type?"
        )),
        Some("ENOLINK") => bad.help("it is detached already"),
        _ => match hint(e) {
            Some(help) => bad.help(help),
            None => bad,
        },
    }
}
