//! The attach points that fit a program, and the hook that the program gets there.

use super::{
    AttachPoint, AttachedProgram, InterfaceHook, Site,
    attach_type::{
        attach_types_of, attach_types_of_cgroups, attach_types_of_sockmaps, is_of_cgroup, short_name,
        shortest_word,
    },
};
use crate::{
    describe::short_type_name,
    words::{list, suggestion},
};
use core_relo_loader::{
    attach::XdpMode,
    object::{AttachType, ProgramType, SEC_DEFS, SecMatch},
};
use std::path::Path;

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
pub(super) fn is_section_kind(kind: &str) -> bool {
    section_kinds().any(|(name, _)| name == kind)
}

/// Returns the words of all kinds.
pub(crate) fn all_kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(kind, _)| *kind).chain(section_kinds().map(|(kind, _)| kind))
}

/// Returns the kinds of attach points that fit a program type.
fn fitting_kinds(program_type: ProgramType) -> Vec<&'static str> {
    let places = KINDS.iter().filter(|(_, types)| types.contains(&program_type)).map(|(kind, _)| *kind);
    let sections = section_kinds().filter(|(_, of)| *of == program_type).map(|(kind, _)| kind);
    places.chain(sections).collect()
}

/// Returns an attach point for programs of a type, with words in place of names. Returns the place of a program that no attach point
/// fits as an error.
pub(crate) fn place_for(program_type: ProgramType) -> Result<String, &'static str> {
    let place = |kind| match kind {
        "dev" if program_type == ProgramType::SchedCls => "dev:NAME,ingress",
        "dev" => "dev:NAME",
        "cgroup" => "cgroup:PATH",
        "netns" => "netns:NAME",
        "map" => "map:NAME",
        "lirc" => "lirc:/dev/lirc0",
        "netfilter" => "netfilter:ipv4,input,0",
        "route" => "route:NETWORK,DEV",
        _ => "KIND:PLACE",
    };
    match *fitting_kinds(program_type).as_slice() {
        [] => Err(place_of_others(program_type)),
        [kind] if KINDS.iter().any(|(place, _)| *place == kind) => Ok(place(kind).to_owned()),
        ref kinds => Ok(format!("KIND:PLACE with {}", list(kinds.iter().copied()))),
    }
}

impl AttachPoint {
    /// Checks that a program can have this attach point. The error names the kinds that fit, or the attach types.
    pub(crate) fn check_fits(
        &self,
        program_type: ProgramType,
        attach_type: Option<AttachType>,
    ) -> Result<(), String> {
        self.check_kind(program_type)?;
        match &self.site {
            Site::Interface { hook, .. } => interface_hook(*hook, program_type, attach_type).map(drop),
            Site::Cgroup { attach_type: given, .. } => {
                self.cgroup_attach_type(program_type, given.or(attach_type)).map(drop)
            }
            Site::Map { attach_type: given, .. } => {
                self.map_attach_type(program_type, given.or(attach_type)).map(drop)
            }
            Site::Route(route) => {
                route.check_fits(program_type).map_err(|problem| format!("`{self}`: {problem}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the kind of the attach point fits a program. The error names the kinds that fit.
    fn check_kind(&self, program_type: ProgramType) -> Result<(), String> {
        let (kind, _) = self.text.split_once(':').unwrap_or((&self.text, ""));
        let fitting = fitting_kinds(program_type);
        let type_name = short_type_name(program_type.name());
        if fitting.is_empty() {
            let place = place_of_others(program_type);
            return Err(format!(
                "programs of type {type_name} have no attach point that can be named here: {place}"
            ));
        }
        if !fitting.contains(&kind) {
            let expected = list(fitting);
            return Err(format!("`{self}` does not fit a program of type {type_name}: expected {expected}"));
        }
        self.check_word(program_type)
    }

    /// Checks that the word after the last comma is a known attach type, or part of a path that exists.
    fn check_word(&self, program_type: ProgramType) -> Result<(), String> {
        let (place, candidates): (&Path, Vec<_>) = match &self.site {
            Site::Cgroup { path, attach_type: None } => (path, attach_types_of_cgroups().collect()),
            Site::Map { map, attach_type: None } => (Path::new(map), attach_types_of_sockmaps().collect()),
            _ => return Ok(()),
        };
        let may_be_type = |word: &str| !word.contains('/') && place.try_exists().is_ok_and(|exists| !exists);
        let Some((point, word)) = self.text.rsplit_once(',').filter(|(_, word)| may_be_type(word)) else {
            return Ok(());
        };
        let words: Vec<_> =
            attach_types_of(program_type, &candidates).into_iter().map(shortest_word).collect();
        if words.is_empty() {
            return Ok(());
        }
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let expected = list(words.iter().copied());
        let nearest = suggestion(word, words);
        Err(format!("unknown attach type `{word}`, expected `{point},TYPE` with {expected}{nearest}"))
    }

    /// Returns the text without an attach type.
    fn text_of_place(&self) -> &str {
        match &self.site {
            Site::Cgroup { attach_type: Some(_), .. } | Site::Map { attach_type: Some(_), .. } => {
                self.text.rsplit_once(',').map_or(&self.text, |(place, _)| place)
            }
            _ => &self.text,
        }
    }

    /// Returns the attach type with which a program is attached to a cgroup.
    pub(super) fn cgroup_attach_type(
        &self,
        program_type: ProgramType,
        attach_type: Option<AttachType>,
    ) -> Result<AttachType, String> {
        let candidates: Vec<_> = attach_types_of_cgroups().collect();
        self.one_attach_type(program_type, attach_type.filter(|given| is_of_cgroup(*given)), &candidates)
    }

    /// Returns the attach type with which a program is attached to a map.
    pub(super) fn map_attach_type(
        &self,
        program_type: ProgramType,
        attach_type: Option<AttachType>,
    ) -> Result<AttachType, String> {
        let candidates: Vec<_> = attach_types_of_sockmaps().collect();
        self.one_attach_type(program_type, attach_type, &candidates)
    }

    /// Returns the attach type that is given or, if the program type has only one, this one. The tracing programs of cgroups and maps
    /// are iterators.
    fn one_attach_type(
        &self,
        program_type: ProgramType,
        given: Option<AttachType>,
        candidates: &[AttachType],
    ) -> Result<AttachType, String> {
        if program_type == ProgramType::Tracing {
            return Ok(AttachType::TraceIter);
        }
        let types = attach_types_of(program_type, candidates);
        match (given, types.as_slice()) {
            (Some(given), types) if types.contains(&given) => Ok(given),
            (None, [only]) => Ok(*only),
            (given, types) => {
                let names: Vec<_> = types.iter().map(|of| shortest_word(*of)).collect();
                let expected = list(names.iter().map(String::as_str));
                let what = match given {
                    Some(given) => format!("attach type {} does not fit", short_name(given)),
                    None => "the attach type is missing".to_owned(),
                };
                let type_name = short_type_name(program_type.name());
                let place = self.text_of_place();
                Err(format!(
                    "`{self}`: program of type {type_name}: {what}: expected `{place},TYPE` with {expected}"
                ))
            }
        }
    }
}

/// Returns the place of programs that no attach point fits.
fn place_of_others(program_type: ProgramType) -> &'static str {
    use ProgramType as P;
    match program_type {
        P::StructOps => "`core-relo struct_ops register` registers their map, `core-relo load --attach` too",
        P::Ext => "`core-relo load --attach-target PROG=FUNC@PROGRAM` names the function that they replace",
        P::Tracing | P::Lsm => "the target is fixed at load: `core-relo load --attach-target PROG=FUNC`",
        P::SocketFilter => "a process attaches them to its sockets (SO_ATTACH_BPF)",
        P::SkReuseport => "a process attaches them to its sockets (SO_ATTACH_REUSEPORT_EBPF)",
        P::Syscall => "`core-relo prog run` runs them",
        P::SchedAct => "they are actions of classifiers: `tc action add action bpf`",
        _ => "the kernel or another program runs them",
    }
}

/// Returns the hook of an interface for a program.
pub(super) fn interface_hook(
    hook: Option<InterfaceHook>,
    program_type: ProgramType,
    attach_type: Option<AttachType>,
) -> Result<InterfaceHook, String> {
    use AttachType as A;
    let by_type = || match (program_type, attach_type) {
        (ProgramType::Xdp, _) => Some(InterfaceHook::Xdp(XdpMode::Any)),
        (_, Some(of @ (A::TcxIngress | A::TcxEgress | A::NetkitPrimary | A::NetkitPeer))) => {
            Some(InterfaceHook::Classifier(of))
        }
        _ => None,
    };
    let type_name = short_type_name(program_type.name());
    let hook = hook.or_else(by_type).ok_or_else(|| {
        format!(
            "the direction of a program of type {type_name} is missing: expected `dev:NAME,ingress` or `dev:NAME,egress`"
        )
    })?;
    let is_xdp = matches!(hook, InterfaceHook::Xdp(_));
    if is_xdp == (program_type == ProgramType::Xdp) {
        return Ok(hook);
    }
    let expected =
        if is_xdp { "`ingress` or `egress`" } else { "`xdp`, `xdpgeneric`, `xdpdrv` or `xdpoffload`" };
    Err(format!("this hook does not fit a program of type {type_name}: expected {expected}"))
}

impl AttachedProgram<'_> {
    /// Checks that the program can have an attach point.
    pub(crate) fn check_fits(&self, point: &AttachPoint) -> Result<(), String> {
        point.check_fits(self.program_type, self.attach_type)
    }

    /// Checks that the program can be detached from an attach point. The attach type of a cgroup may be missing: the cgroup has it.
    pub(crate) fn check_detaches(&self, point: &AttachPoint) -> Result<(), String> {
        match point.site {
            Site::Cgroup { attach_type: None, .. } => point.check_kind(self.program_type),
            _ => self.check_fits(point),
        }
    }
}
