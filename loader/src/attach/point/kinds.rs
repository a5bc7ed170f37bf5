//! The kinds of attach points, and the program types that fit them.

use core_relo_object::object::{ProgramType, SEC_DEFS, SecMatch};

/// The kinds of attach points that are no section names, and the program types that fit them.
const KINDS: [(&str, &[ProgramType]); 9] = {
    use ProgramType as P;
    [
        ("dev", &[P::Xdp, P::SchedCls]),
        (
            "cgroup",
            &[
                P::CgroupSkb,
                P::CgroupSock,
                P::CgroupSockAddr,
                P::CgroupSockopt,
                P::CgroupSysctl,
                P::CgroupDevice,
                P::SockOps,
                P::Lsm,
                P::Tracing,
            ],
        ),
        ("netns", &[P::SkLookup, P::FlowDissector]),
        ("map", &[P::SkMsg, P::SkSkb, P::Tracing]),
        ("lirc", &[P::LircMode2]),
        ("netfilter", &[P::Netfilter]),
        ("pid", &[P::PerfEvent, P::Kprobe, P::Tracing]),
        ("cpu", &[P::PerfEvent]),
        ("route", &[P::LwtIn, P::LwtOut, P::LwtXmit, P::LwtSeg6local]),
    ]
};

/// Returns the section names that are kinds of attach points, with their program types.
fn section_kinds() -> impl Iterator<Item = (&'static str, ProgramType)> {
    use ProgramType as P;
    let probes = [P::Kprobe, P::Tracepoint, P::RawTracepoint, P::RawTracepointWritable];
    let defs = SEC_DEFS.iter().filter(|def| def.matching == SecMatch::WithTarget);
    defs.filter(move |def| probes.contains(&def.program_type)).map(|def| (def.name, def.program_type))
}

/// Returns whether a kind of attach point is a section's name.
pub fn is_section_kind(kind: &str) -> bool {
    section_kinds().any(|(name, _)| name == kind)
}

/// Returns the words of all kinds of attach points.
pub fn attach_point_kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(kind, _)| *kind).chain(section_kinds().map(|(kind, _)| kind))
}

/// Returns the kinds of attach points that fit a program type.
pub fn fitting_kinds(program_type: ProgramType) -> Vec<&'static str> {
    let places = KINDS.iter().filter(|(_, types)| types.contains(&program_type)).map(|(kind, _)| *kind);
    let sections = section_kinds().filter(|(_, of)| *of == program_type).map(|(kind, _)| kind);
    places.chain(sections).collect()
}
