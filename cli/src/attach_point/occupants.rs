//! The programs that are attached at a place already. They explain why the kernel refuses another one.

use super::{
    AttachPoint, AttachedProgram, InterfaceHook, Site, fit::interface_hook, link::netns_attach_type,
    link::open,
};
use core_relo_loader::{
    attach::{self, AttachError, InterfaceRef, QueryTarget},
    object::AttachType,
    sys::{self, Errno},
};
use rustix::fs::OFlags;
use std::os::fd::AsFd as _;

/// The largest number of programs that an error names.
const SHOWN: usize = 4;

/// A program that is attached at the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Occupant {
    prog_id: u32,
    /// The link that attaches it, if the kernel reports it: links of TCX and netkit only.
    link_id: Option<u32>,
}

/// Adds the programs that are attached at the place to an error that they may have caused.
pub(crate) fn explain_refusal(
    error: AttachError,
    program: &AttachedProgram<'_>,
    point: &AttachPoint,
) -> AttachError {
    let may_be_occupied = matches!(
        error.errno().and_then(Errno::name),
        Some("EEXIST" | "EBUSY" | "EPERM" | "EINVAL" | "E2BIG" | "ERANGE")
    );
    let occupants = if may_be_occupied { find(program, point) } else { None }.unwrap_or_default();
    let own_id = sys::prog_info(&program.fd).map(|info| info.id).ok();
    // The kernel refuses to attach a program twice, whatever else is attached.
    let own = occupants.iter().find(|occupant| Some(occupant.prog_id) == own_id);
    let Some(cause) = own.or(occupants.first()) else { return error };
    let mut names: Vec<_> = occupants.iter().take(SHOWN).map(|occupant| occupant.text(own_id)).collect();
    if occupants.len() > SHOWN {
        names.push(format!("{} more", occupants.len() - SHOWN));
    }
    let way_out = match cause {
        Occupant { link_id: Some(link), .. } => format!("`core-relo link detach {link}` makes room"),
        // The kernel does not tell which of a program's links is at this place.
        Occupant { prog_id, .. } => format!(
            "`core-relo prog detach {prog_id} --from {point}` makes room, or `core-relo link detach` if a link attaches it"
        ),
    };
    let (errno, text) = (error.errno(), error.to_string());
    // Some errors name the attach point themselves.
    let text = text.strip_prefix(&format!("{point}: ")).unwrap_or(&text);
    let problem = format!("{text}; attached there: {}; {way_out}", names.join(", "));
    AttachError::Target { label: point.to_string().into(), problem: problem.into(), errno }
}

impl Occupant {
    fn text(self, own_id: Option<u32>) -> String {
        let Self { prog_id, link_id } = self;
        let program = match own_id {
            Some(own) if own == prog_id => format!("this program ({prog_id})"),
            _ => format!("program {prog_id}"),
        };
        link_id.map_or_else(|| program.clone(), |link| format!("{program} by link {link}"))
    }
}

/// Returns the programs at a place. `None` if the kernel does not report them.
fn find(program: &AttachedProgram<'_>, point: &AttachPoint) -> Option<Vec<Occupant>> {
    let AttachedProgram { program_type, attach_type, .. } = *program;
    match &point.site {
        Site::Interface { name, hook } => {
            let ifindex = InterfaceRef::from(name).index().ok()?;
            match interface_hook(*hook, program_type, attach_type).ok()? {
                InterfaceHook::Xdp(_) => {
                    let ids = attach::xdp_query(name).ok()?.prog_ids();
                    Some(ids.into_iter().map(|prog_id| Occupant { prog_id, link_id: None }).collect())
                }
                InterfaceHook::Classifier(of) => query(QueryTarget::Interface(ifindex), &[of]),
                // Any number of classifiers can be attached.
                InterfaceHook::Tc(_) => None,
            }
        }
        Site::Cgroup { path, attach_type: given } => {
            let of = point.cgroup_attach_type(program_type, given.or(attach_type)).ok()?;
            let dir = open(path, OFlags::DIRECTORY).ok()?;
            query(QueryTarget::Cgroup(dir.as_fd()), &[of])
        }
        Site::Map { map, .. } => {
            let map = (program.open_map)(map).ok()?;
            // A program of one attach type may exclude those of others.
            let types: Vec<_> = super::attach_type::attach_types_of_sockmaps().collect();
            query(QueryTarget::Sockmap(map.as_fd()), &types)
        }
        Site::Netns(path) => {
            let netns = open(path, OFlags::empty()).ok()?;
            let of = netns_attach_type(program_type);
            query(QueryTarget::Netns(netns.as_fd()), &[of])
        }
        // The kernel does not tell the network namespace of a netfilter link.
        Site::Netfilter(_)
        | Site::Lirc(_)
        | Site::Process(_)
        | Site::Cpu(_)
        | Site::Section(_)
        | Site::Route(_) => None,
    }
}

/// Returns the programs of several attach types at a target.
fn query(target: QueryTarget<'_>, attach_types: &[AttachType]) -> Option<Vec<Occupant>> {
    let mut occupants = Vec::new();
    for of in attach_types {
        let Ok(attached) = attach::query(target, *of) else { continue };
        for (place, prog_id) in attached.prog_ids.iter().enumerate() {
            let link_id = attached.link_ids.get(place).copied().filter(|link| *link != 0);
            occupants.push(Occupant { prog_id: *prog_id, link_id });
        }
    }
    (!occupants.is_empty()).then_some(occupants)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_occupant_is_named_with_the_link_that_the_kernel_reports() {
        let by_link = Occupant { prog_id: 7, link_id: Some(1) };
        assert_eq!(by_link.text(Some(7)), "this program (7) by link 1");
        assert_eq!(Occupant { prog_id: 9, link_id: None }.text(Some(7)), "program 9");
    }
}
