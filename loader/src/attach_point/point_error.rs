//! [`AttachPointError`]: a text that is no attach point, or an attach point that does not fit a program.

use super::kinds::{
    INTERFACE_HOOKS, NETFILTER_HOOKS, as_point, attach_point_kinds, example_place, fitting_kinds,
};
use core_relo::Escaped;
use core_relo_object::object::{AttachType, ProgramType, SectionTargetError};

/// The reason why a text is no attach point, or why an attach point does not fit a program.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttachPointError {
    /// The text has no kind.
    #[error("expected KIND:PLACE with {}", word_list(attach_point_kinds()))]
    MissingKind,
    /// The kind is unknown.
    #[error(
        "unknown kind of attach point `{}`, expected KIND:PLACE with {}",
        Escaped(kind),
        word_list(attach_point_kinds())
    )]
    UnknownKind {
        /// The unknown word.
        kind: String,
    },
    /// The text has no place.
    #[error("expected `{kind}:` and a place, for example `{kind}:{}`", example_place(kind))]
    MissingPlace {
        /// The kind.
        kind: String,
    },
    /// The word after the last comma is no hook of a network interface.
    #[error("interface {}: unknown hook `{}`, expected {}", Escaped(interface), Escaped(word), word_list(INTERFACE_HOOKS.map(|(word, _)| word)))]
    UnknownHook {
        /// The text before the word.
        interface: String,
        /// The unknown word.
        word: String,
    },
    /// The place is invalid.
    #[error("{kind}: {}: {problem}", Escaped(place))]
    Place {
        /// The kind.
        kind: String,
        /// The invalid text.
        place: String,
        /// The problem with the place.
        problem: PlaceProblem,
    },
    /// The place is invalid in the name of a section.
    #[error("{kind}:{}: {}", Escaped(place), as_point(kind, error.problem))]
    SectionTarget {
        /// The kind.
        kind: String,
        /// The invalid text.
        place: String,
        /// The problem with the name of the section.
        error: SectionTargetError,
    },
    /// The word after the last comma is no attach type of the program.
    #[error("unknown attach type `{}`, expected `{},TYPE` with {}", Escaped(word), Escaped(place), word_list(expected.iter().map(String::as_str)))]
    UnknownAttachType {
        /// The unknown word.
        word: String,
        /// The text before the word.
        place: String,
        /// The words for the attach types that fit the program.
        expected: Vec<String>,
    },
    /// Programs of this type are attached in other ways.
    #[error("programs of type {} have no attach point that can be named here", program_type.short_name())]
    NoAttachPoint {
        /// The type of the program.
        program_type: ProgramType,
    },
    /// Attach points of this kind do not fit the program.
    #[error(
        "`{}` does not fit a program of type {}: expected {}",
        Escaped(point),
        program_type.short_name(),
        word_list(fitting_kinds(*program_type))
    )]
    UnfitKind {
        /// The attach point.
        point: String,
        /// The type of the program.
        program_type: ProgramType,
    },
    /// The attach type does not fit the program, or is missing.
    #[error(
        "`{}`: program of type {}: {}: expected `{},TYPE` with {}",
        Escaped(point),
        program_type.short_name(),
        given.map_or("the attach type is missing".to_owned(), |given| format!("attach type {} does not fit", given.short_name())),
        Escaped(place),
        word_list(expected.iter().map(String::as_str))
    )]
    UnfitAttachType {
        /// The attach point.
        point: String,
        /// The attach point without an attach type.
        place: String,
        /// The type of the program.
        program_type: ProgramType,
        /// The attach type, if there is one.
        given: Option<AttachType>,
        /// The words for the attach types that fit the program.
        expected: Vec<String>,
    },
    /// The program has no direction at a network interface.
    #[error("the direction of a program of type {} is missing: expected `dev:NAME,ingress` or `dev:NAME,egress`", program_type.short_name())]
    MissingDirection {
        /// The type of the program.
        program_type: ProgramType,
    },
    /// The hook of a network interface does not fit the program.
    #[error(
        "this hook does not fit a program of type {}: expected {}",
        program_type.short_name(),
        match program_type {
            ProgramType::Xdp => "`xdp`, `xdpgeneric`, `xdpdrv` or `xdpoffload`",
            _ => "`ingress` or `egress`",
        }
    )]
    UnfitHook {
        /// The type of the program.
        program_type: ProgramType,
    },
    /// A program for segment routing has a route of IPv4.
    #[error(
        "`{}`: segment routing needs IPv6, expected a route such as `route:fd00:88::/64,eth0`",
        Escaped(point)
    )]
    UnfitRoute {
        /// The attach point.
        point: String,
    },
}

core_relo::debug_as_message!(AttachPointError);

/// The problem with the place of an attach point.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceProblem {
    /// The place is no number.
    #[error("expected a number")]
    Number,
    /// The place is no processor.
    #[error("expected a number or `all`")]
    Processor,
    /// The number is no id of a process.
    #[error("expected the id of a process, 1 or more")]
    ProcessId,
    /// The place is no hook of netfilter.
    #[error(
        "expected FAMILY,HOOK,PRIORITY with `ipv4` or `ipv6`, {}, and a number; optionally `,defrag`",
        word_list(NETFILTER_HOOKS)
    )]
    NetfilterHook,
    /// The place is no route.
    #[error("expected ADDRESS/PREFIX,INTERFACE and optionally a comma and the address of the gateway")]
    Route,
    /// The prefix of a route is longer than the address.
    #[error("the prefix has at most {bits} bits")]
    PrefixLength {
        /// The bits of an address.
        bits: u32,
    },
    /// The address of a route has bits after the prefix.
    #[error("the address has bits after the prefix, expected that of a network")]
    HostBits,
}

core_relo::debug_as_message!(PlaceProblem);

/// Returns words as a list: "`a`, `b` or `c`".
pub(crate) fn word_list<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [words @ .., last] if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        words => words.concat(),
    }
}
