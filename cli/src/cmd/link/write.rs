//! `link detach` and `link update`.

use crate::{
    args::{object_selector::ObjectChangeArgs, object_words::LinkUpdateArgs},
    cmd::object_change::{ObjectChange, open_and_change},
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    kernel_objects::{
        error::{object_name, unreadable_info, with_hint},
        link_text::type_name,
        select::{command, parse_selector, select_one},
    },
    words::shell_word,
};
use core_relo_loader::{
    Errno,
    inventory::{self, BtfCache, Holders, LinkInfo, LinkTarget, ObjectKind},
    object::LinkType,
};
use std::{os::fd::AsFd as _, path::PathBuf};

/// The types of links whose program or map the kernel replaces (the `update_prog` and `update_map` functions
/// of `bpf_link_ops`).
const REPLACEABLE: [LinkType; 8] = [
    LinkType::Cgroup,
    LinkType::Iter,
    LinkType::Netns,
    LinkType::Xdp,
    LinkType::StructOps,
    LinkType::Tcx,
    LinkType::Netkit,
    LinkType::Sockmap,
];

pub(super) fn detach(console: &mut Console<'_>, args: &ObjectChangeArgs) -> CommandResult {
    let selected = Ok((args.selector.clone(), &[][..]));
    open_and_change(console, ObjectKind::Link, selected, args.format, |id, fd, _| {
        let info = read_info(id, fd)?;
        let target = LinkTarget::read(fd, &info, &mut BtfCache::default())
            .map_err(|e| unreadable_info(ObjectKind::Link, id, e))?;
        let holders = Holders::find_pins();
        let pins = holders.pins(ObjectKind::Link, id);
        // The kernel detaches a link twice without an error.
        if target.is_detached() {
            let bad = BadInput::new(object_name(ObjectKind::Link, id, ""), "it is detached already");
            return Err(match still_pinned(&info, pins) {
                Some(note) => bad.help(note),
                None => bad,
            });
        }
        inventory::detach_link(fd).map_err(|e| refusal(&info, "detached", e))?;
        Ok(ObjectChange::new(ObjectKind::Link, id, "detached").note(still_pinned(&info, pins)))
    })
}

/// Returns the note about the pins of a detached link. `None` if it has none.
fn still_pinned(info: &LinkInfo, pins: &[PathBuf]) -> Option<String> {
    // A detached link of struct_ops has no map any more.
    let kept = if info.link_type == LinkType::StructOps.number() { "the link" } else { "the program loaded" };
    let shown: Vec<_> = pins.iter().map(|pin| escape_path(pin)).collect();
    let quoted: Vec<_> = shown.iter().map(|pin| shell_word(pin)).collect();
    (!pins.is_empty()).then(|| {
        let (pins, quoted) = (shown.join(" and "), quoted.join(" "));
        format!("still pinned at {pins}, which keeps {kept}: rm {quoted}")
    })
}

pub(super) fn update(console: &mut Console<'_>, args: &LinkUpdateArgs) -> CommandResult {
    open_and_change(console, ObjectKind::Link, args.object.split(), args.format, |id, fd, words| {
        let info = read_info(id, fd)?;
        // A link of struct_ops has a map in place of a program.
        let kind = if info.link_type == LinkType::StructOps.number() {
            ObjectKind::Map
        } else {
            ObjectKind::Program
        };
        let selection = parse_selector(kind, words).map_err(|what| {
            let bad = BadInput::new(object_name(ObjectKind::Link, id, ""), what);
            bad.help(format!("`core-relo {} list` lists them", command(kind)))
        })?;
        let (new_id, new) = select_one(kind, &selection)?;
        inventory::update_link(fd, new.as_fd(), None).map_err(|e| refusal(&info, "updated", e))?;
        Ok(ObjectChange::new(ObjectKind::Link, id, "updated").content(kind, new_id))
    })
}

fn read_info(id: u32, fd: &impl std::os::fd::AsFd) -> Result<LinkInfo, BadInput> {
    LinkInfo::query(fd).map_err(|e| unreadable_info(ObjectKind::Link, id, e))
}

/// Returns the error of a change that the kernel refuses.
fn refusal(info: &LinkInfo, change: &str, e: Errno) -> BadInput {
    let bad =
        BadInput::new(object_name(ObjectKind::Link, info.id, ""), format_args!("cannot be {change}: {e}"));
    let link_type = type_name(info.link_type);
    let is_replaceable = LinkType::from_number(info.link_type).is_some_and(|of| REPLACEABLE.contains(&of));
    let content = if info.link_type == LinkType::StructOps.number() { "map" } else { "program" };
    match e {
        Errno::EOPNOTSUPP | Errno::ENOTSUPP | Errno::EINVAL if change == "detached" => bad.help(format!(
            "the kernel does not detach links of this type ({link_type}): such a link ends with its last pin and holder, which \
             `core-relo link show` lists"
        )),
        // Most links without the function are refused with EINVAL. Links of netfilter have one that refuses.
        Errno::EOPNOTSUPP | Errno::EINVAL if !is_replaceable => bad.help(format!(
            "the kernel does not replace programs of {link_type} links: attach the new program, and end this link"
        )),
        Errno::EINVAL => bad.help(format!(
            "the kernel does not replace the {content} of a {link_type} link by this one: is it of the same type?"
        )),
        Errno::ENOLINK => bad.help("it is detached already"),
        _ => with_hint(bad, e),
    }
}
