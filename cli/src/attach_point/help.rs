//! The words of errors and help texts about attach points.

use core_relo::explain::{list_words, suggest_word};
use core_relo_loader::{
    attach_point::{AttachPoint, AttachPointError, attach_point_kinds, fitting_kinds, is_section_kind},
    object::ProgramType,
};

/// Parses an attach point. The error suggests the nearest kind.
pub(crate) fn parse_attach_point(text: &str) -> Result<AttachPoint, String> {
    text.parse().map_err(explain)
}

/// Returns the text of an error, with the nearest word, or with what attaches the program instead.
pub(crate) fn explain(error: AttachPointError) -> String {
    let end = match &error {
        AttachPointError::UnknownKind { kind } => suggest_word(kind, attach_point_kinds()),
        AttachPointError::UnknownAttachType { word, expected, .. } => {
            suggest_word(word, expected.iter().map(String::as_str))
        }
        AttachPointError::NoAttachPoint { program_type } => {
            format!(": {}", place_of_others(*program_type))
        }
        _ => String::new(),
    };
    format!("{error}{end}")
}

/// Returns an attach point for programs of a type, with words in place of names. Returns the place of a
/// program that no attach point fits as an error.
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
        [kind] if !is_section_kind(kind) => Ok(place(kind).to_owned()),
        ref kinds => Ok(format!("KIND:PLACE with {}", list_words(kinds.iter().copied()))),
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

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_loader::object::ProgramType as P;

    #[test]
    fn a_program_type_has_a_place_with_its_kinds() {
        for (program_type, place) in [
            (P::Xdp, "dev:NAME"),
            (P::SchedCls, "dev:NAME,ingress"),
            (P::CgroupSkb, "cgroup:PATH"),
            (P::PerfEvent, "KIND:PLACE with `pid` or `cpu`"),
            (P::Tracing, "KIND:PLACE with `cgroup`, `map` or `pid`"),
        ] {
            assert_eq!(place_for(program_type), Ok(place.into()));
        }
        assert!(place_for(P::RawTracepoint).unwrap().contains("`raw_tp`"));
        assert!(place_for(P::SocketFilter).unwrap_err().contains("SO_ATTACH_BPF"));
    }

    #[test]
    fn errors_suggest_the_nearest_word() {
        let error = parse_attach_point("cgruop:/a").unwrap_err();
        assert!(error.ends_with("; did you mean `cgroup`?"), "{error}");
        let point = parse_attach_point("cgroup:/a,egres").unwrap();
        let error = explain(point.check_fits(P::CgroupSkb, None).unwrap_err());
        assert!(error.ends_with("; did you mean `egress`?"), "{error}");
        let error = explain(point.check_fits(P::SocketFilter, None).unwrap_err());
        assert!(error.contains("SO_ATTACH_BPF"), "{error}");
    }
}
