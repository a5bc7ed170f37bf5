//! The reason why a program is not attached or detached, with the programs that are attached there already
//! and the command that makes room.

use super::explain;
use crate::words::shell_word;
use core_relo_loader::{
    Errno,
    attach::AttachError,
    attach_point::{AttachPoint, AttachSite, HeldBy, LastingError, Occupant, PointProgram, XdpHolder},
    inventory::ProgramInfo,
    object::AttachType,
};

/// The largest number of programs that an error names.
const SHOWN: usize = 4;

/// Returns the error of a program that is not attached without a link or not detached, with the option or
/// command that helps.
pub(crate) fn explain_lasting(error: LastingError, point: &AttachPoint) -> AttachError {
    let text = match error {
        LastingError::Attach(error) => return error,
        LastingError::Unfit(error) => explain(error),
        LastingError::NoSharing => "--sharing is for cgroups only".into(),
        LastingError::NotReplaceable => {
            "--replace replaces an XDP program, a flow dissector or the program of a sockmap; \
            this place may have several programs: detach the other one"
                .into()
        }
        LastingError::OtherNetns => {
            "expected the network namespace of this command: `nsenter --net=PATH` runs it in another one; \
            or make a link with --pin PATH"
                .into()
        }
        LastingError::Occupied { .. } => format!("{error}: --replace replaces it"),
        LastingError::AttachedTwice { prog_id, .. } => {
            let point = shell_word(&point.to_string());
            format!("{error}: `core-relo prog detach {prog_id} --from {point}` detaches it")
        }
        LastingError::NeedsLink => format!("{error}, and it needs a pin to last: --pin PATH"),
        LastingError::OnlyLinks => format!("{error}: `core-relo link list` shows them"),
        LastingError::HeldByLink { link: Some(link), .. } => {
            format!("{error}: `core-relo link detach {link}`")
        }
        LastingError::HeldByLink { link: None, .. } => {
            format!("{error}: `core-relo link list` shows it, `core-relo link detach` detaches it")
        }
        error => error.to_string(),
    };
    AttachError::target(point.to_string(), text)
}

/// Adds the programs that are attached at the place to an error that they may have caused. `loaded` are the
/// ids and names of the programs that are loaded with this one, and that a refusal unloads.
pub(crate) fn explain_refusal(
    error: AttachError,
    program: &PointProgram<'_>,
    loaded: &[(u32, &str)],
) -> AttachError {
    let may_be_occupied = matches!(
        error.errno(),
        Some(Errno::EEXIST | Errno::EBUSY | Errno::EPERM | Errno::EINVAL | Errno::E2BIG | Errno::ERANGE)
    );
    let point = program.point;
    let found = if may_be_occupied { program.occupants() } else { None };
    let own_id = ProgramInfo::query(&program.program.fd).map(|info| info.id).ok();
    // A cgroup refuses a program with `EINVAL` if the program is attached already, but not because of another
    // one.
    let is_invalid_in_cgroup =
        matches!(point.site(), AttachSite::Cgroup { .. }) && error.errno() == Some(Errno::EINVAL);
    let is_own = |occupant: &Occupant| Some(occupant.prog_id) == own_id;
    let may_be_cause = |found: &Vec<Occupant>| !is_invalid_in_cgroup || found.iter().any(is_own);
    let Some(mut occupants) = found.filter(|found| !found.is_empty() && may_be_cause(found)) else {
        return explain_refusal_of_cgroup(error, point);
    };
    if let Some(holder) = XdpHolder::reported(&error) {
        occupants.iter_mut().for_each(|occupant| occupant.held_by = holder.refine(occupant.held_by));
    }
    // The kernel refuses to attach a program twice, whatever else is attached.
    let own = occupants.iter().find(|other| is_own(other));
    let Some(cause) = own.or(occupants.first()) else { return error };
    let mut names: Vec<_> =
        occupants.iter().take(SHOWN).map(|occupant| occupant_text(occupant, own_id, loaded)).collect();
    if occupants.len() > SHOWN {
        names.push(format!("{} more", occupants.len() - SHOWN));
    }
    let way_out = match own_id {
        _ if !loaded.iter().any(|(id, _)| *id == cause.prog_id) => {
            // The kernel has many reasons for `EINVAL`, such as an XDP mode that the device lacks.
            let is_doubtful = error.errno() == Some(Errno::EINVAL);
            format!("{}{}", if is_doubtful { "if it is the cause, " } else { "" }, way_out(cause))
        }
        Some(own) if own == cause.prog_id => "this load attaches it there twice".into(),
        _ => "this load attaches both there, expected one of them".into(),
    };
    let (errno, text) = (error.errno(), error.to_string());
    // Some errors name the attach point themselves.
    let text = text.strip_prefix(&format!("{point}: ")).unwrap_or(&text);
    let problem = format!("{text}; attached there: {}; {way_out}", names.join(", "));
    AttachError::Target { label: point.to_string().into(), problem: problem.into(), errno }
}

/// Adds the command that shows the programs of all cgroups: a program of a cgroup above may forbid others
/// below.
fn explain_refusal_of_cgroup(error: AttachError, point: &AttachPoint) -> AttachError {
    let errno = error.errno();
    let help = match error.errno() {
        _ if !matches!(point.site(), AttachSite::Cgroup { .. }) => return error,
        Some(Errno::EPERM) => "`core-relo cgroup tree` shows the programs of the cgroups above",
        // The kernel does not report the attach type of a loaded program.
        Some(Errno::EINVAL) => "was the program loaded for this attach type, as its section names it?",
        _ => return error,
    };
    let problem = format!("{error}; {help}");
    AttachError::Target { label: point.to_string().into(), problem: problem.into(), errno }
}

/// Names the program, and the link that attaches it. The ids of programs that this load unloads would be of
/// no use.
fn occupant_text(occupant: &Occupant, own_id: Option<u32>, loaded: &[(u32, &str)]) -> String {
    let prog_id = occupant.prog_id;
    if let Some((_, name)) = loaded.iter().find(|(id, _)| *id == prog_id) {
        return if own_id == Some(prog_id) {
            "this program".into()
        } else {
            format!("program `{name}` of this load")
        };
    }
    let program = match own_id {
        Some(own) if own == prog_id => format!("this program ({own})"),
        _ => format!("program {prog_id}"),
    };
    match occupant.held_by {
        HeldBy::Link(link) => format!("{program} by link {link}"),
        HeldBy::PerhapsLink(link) => format!("{program}, perhaps by link {link}"),
        HeldBy::SomeLink => format!("{program} by a link"),
        HeldBy::NoLink | HeldBy::Unknown => program,
    }
}

/// Returns the command that detaches the program.
fn way_out(Occupant { prog_id, attach_type, held_by, point, .. }: &Occupant) -> String {
    if let HeldBy::Link(link) = held_by {
        return format!("`core-relo link detach {link}` makes room");
    }
    // Only links attach socket lookups.
    if *attach_type == AttachType::SkLookup || *held_by == HeldBy::SomeLink {
        return "`core-relo link list` shows its link, `core-relo link detach` makes room".into();
    }
    let detach = format!("`core-relo prog detach {prog_id} --from {}` makes room", shell_word(point));
    match held_by {
        HeldBy::PerhapsLink(link) => {
            format!(
                "`core-relo link detach {link}` makes room if that link is in this network namespace, else {detach}"
            )
        }
        HeldBy::Unknown => format!("{detach}, or `core-relo link detach` if a link attaches it"),
        _ => detach,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupant(attach_type: AttachType, held_by: HeldBy, point: &str) -> Occupant {
        Occupant { prog_id: 7, attach_type, held_by, point: point.into() }
    }

    #[test]
    fn an_occupant_is_named_with_the_link_that_attaches_it() {
        let text = |held_by, own_id, loaded: &[(u32, &str)]| {
            occupant_text(&occupant(AttachType::Xdp, held_by, "dev:eth0"), own_id, loaded)
        };
        assert_eq!(text(HeldBy::Link(1), Some(7), &[]), "this program (7) by link 1");
        assert_eq!(text(HeldBy::NoLink, Some(9), &[]), "program 7");
        assert_eq!(text(HeldBy::Unknown, None, &[]), "program 7");
        assert_eq!(text(HeldBy::SomeLink, None, &[]), "program 7 by a link");
        // A refusal unloads these programs.
        let loaded = [(7, "first"), (8, "second")];
        assert_eq!(text(HeldBy::Link(1), Some(7), &loaded), "this program");
        assert_eq!(text(HeldBy::Link(1), Some(8), &loaded), "program `first` of this load");
    }

    #[test]
    fn a_way_out_is_a_command_that_finds_the_program() {
        let way_out = |attach_type, held_by, point| way_out(&occupant(attach_type, held_by, point));
        let direct = way_out(AttachType::CgroupDevice, HeldBy::NoLink, "cgroup:/a b,cgroup_device");
        assert_eq!(direct, "`core-relo prog detach 7 --from 'cgroup:/a b,cgroup_device'` makes room");
        let lookup = way_out(AttachType::SkLookup, HeldBy::NoLink, "netns:blue");
        assert!(lookup.contains("link detach") && !lookup.contains("prog detach"), "{lookup}");
        let by_link = way_out(AttachType::Xdp, HeldBy::SomeLink, "dev:eth0");
        assert!(by_link.contains("`core-relo link list` shows its link"), "{by_link}");
        assert!(!by_link.contains("prog detach"), "{by_link}");
    }
}
