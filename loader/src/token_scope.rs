//! The scope of a BPF token: the commands and types that its bpffs delegates (kernel: `struct bpf_token`).

use crate::privileges::missing_privilege_with_token;
use core_relo_object::object::{AttachType, MapType, ProgramType};
use std::{
    fs,
    os::fd::{AsRawFd as _, BorrowedFd},
};

/// Commands of bpf(2) that take a token.
const MAP_CREATE: Command = Command { number: 0, name: "BPF_MAP_CREATE" };
const PROG_LOAD: Command = Command { number: 5, name: "BPF_PROG_LOAD" };
const BTF_LOAD: Command = Command { number: 18, name: "BPF_BTF_LOAD" };

/// A command of bpf(2).
struct Command {
    number: u32,
    name: &'static str,
}

/// A request that the kernel permits by a token in place of capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenRequest {
    /// Loads a program of a type, for an attach type.
    Program { program_type: u32, attach_type: u32 },
    /// Creates a map of a type.
    Map(u32),
    /// Loads BTF.
    Btf,
}

/// What a token delegates: sets of bits by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenScope {
    commands: u64,
    maps: u64,
    programs: u64,
    attach_types: u64,
}

/// Returns why the kernel refuses a request with `EPERM` although the process has a token. Returns `None` if
/// the system does not show what the token delegates.
pub(crate) fn explain_refusal(token: BorrowedFd<'_>, request: TokenRequest) -> Option<String> {
    let missing = TokenScope::read(token)?.missing(request);
    Some(match &*missing {
        [] => format!("the BPF token delegates it, but {}", missing_privilege_with_token()),
        [one] => format!("the BPF token does not delegate {one}: mount the bpffs with it"),
        several => {
            format!("the BPF token does not delegate {}: mount the bpffs with them", several.join(" and "))
        }
    })
}

impl TokenScope {
    /// Reads the scope of a token. Returns `None` if the system does not show the scope.
    pub(crate) fn read(token: BorrowedFd<'_>) -> Option<Self> {
        // A thread may have descriptors of its own.
        let fdinfo = fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", token.as_raw_fd()));
        Self::parse(&fdinfo.ok()?)
    }

    /// Returns whether the token delegates a request.
    pub(crate) fn delegates(&self, request: TokenRequest) -> bool {
        self.missing(request).is_empty()
    }

    /// Parses `/proc/PID/fdinfo/FD` of a token (kernel: `bpf_token_show_fdinfo`).
    pub(crate) fn parse(fdinfo: &str) -> Option<Self> {
        let bits = |key: &str| {
            let value = fdinfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim();
            match value.strip_prefix("0x") {
                _ if value == "any" => Some(u64::MAX),
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => None,
            }
        };
        Some(Self {
            commands: bits("allowed_cmds")?,
            maps: bits("allowed_maps")?,
            programs: bits("allowed_progs")?,
            attach_types: bits("allowed_attachs")?,
        })
    }

    /// Returns what a request needs and the token does not delegate, each with the mount option that
    /// delegates it.
    fn missing(&self, request: TokenRequest) -> Vec<String> {
        let mut missing = Vec::new();
        let command = match request {
            TokenRequest::Program { .. } => PROG_LOAD,
            TokenRequest::Map(_) => MAP_CREATE,
            TokenRequest::Btf => BTF_LOAD,
        };
        if !contains(self.commands, command.number) {
            missing.push(format!("the command {} (delegate_cmds)", command.name));
        }
        match request {
            TokenRequest::Program { program_type, attach_type } => {
                let known = ProgramType::from_number(program_type);
                if !contains(self.programs, program_type) {
                    let name = known.map_or_else(|| program_type.to_string(), |known| known.to_string());
                    missing.push(format!("the program type {name} (delegate_progs)"));
                }
                let attach_type = checked_attach_type(known, attach_type);
                if !contains(self.attach_types, attach_type) {
                    let known = AttachType::from_number(attach_type);
                    let name = known.map_or_else(|| attach_type.to_string(), |known| known.to_string());
                    // Programs without an attach type have the number 0.
                    let note = if attach_type == 0 { ", which stands for none" } else { "" };
                    missing.push(format!("the attach type {name}{note} (delegate_attachs)"));
                }
            }
            TokenRequest::Map(map_type) => {
                if !contains(self.maps, map_type) {
                    let known = MapType::from_number(map_type);
                    let name = known.map_or_else(|| map_type.to_string(), |known| known.to_string());
                    missing.push(format!("the map type {name} (delegate_maps)"));
                }
            }
            TokenRequest::Btf => {}
        }
        missing
    }
}

/// Returns the attach type that the kernel compares with the token: some program types have a default
/// (kernel: `bpf_prog_load_fixup_attach_type`).
fn checked_attach_type(program_type: Option<ProgramType>, attach_type: u32) -> u32 {
    match (program_type, attach_type) {
        (Some(ProgramType::CgroupSock), 0) => AttachType::CgroupInetSockCreate.number(),
        (Some(ProgramType::SkReuseport), 0) => AttachType::SkReuseportSelect.number(),
        _ => attach_type,
    }
}

fn contains(set: u64, number: u32) -> bool {
    1u64.checked_shl(number).is_some_and(|bit| set & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FDINFO: &str = "pos:\t0\nflags:\t02000002\nmnt_id:\t17\nino:\t4\nallowed_cmds:\t0x21\nallowed_maps:\tany\n\
                          allowed_progs:\t0x204\nallowed_attachs:\t0x4\n";

    fn missing(request: TokenRequest) -> Vec<String> {
        TokenScope::parse(FDINFO).unwrap().missing(request)
    }

    #[test]
    fn what_a_token_does_not_delegate_is_named_with_its_option() {
        let program = |program_type: ProgramType, attach_type: u32| {
            missing(TokenRequest::Program { program_type: program_type.number(), attach_type })
        };
        assert_eq!(
            program(ProgramType::Xdp, AttachType::Xdp.number()),
            [
                "the program type BPF_PROG_TYPE_XDP (delegate_progs)",
                "the attach type BPF_XDP (delegate_attachs)"
            ]
        );
        let kprobe = program(ProgramType::Kprobe, 0);
        assert!(kprobe.len() == 1 && kprobe[0].contains("stands for none"), "{kprobe:?}");
        // The kernel takes this type without an attach type for BPF_CGROUP_INET_SOCK_CREATE.
        assert_eq!(program(ProgramType::CgroupSock, 0), [""; 0]);
        assert_eq!(missing(TokenRequest::Map(MapType::Hash.number())), [""; 0]);
        assert_eq!(missing(TokenRequest::Btf), ["the command BPF_BTF_LOAD (delegate_cmds)"]);
    }

    #[test]
    fn types_beyond_64_are_never_delegated() {
        assert_eq!(missing(TokenRequest::Program { program_type: 64, attach_type: 1000 }).len(), 2);
        assert_eq!(TokenScope::parse("pos:\t0\n"), None);
        assert_eq!(TokenScope::parse(&FDINFO.replace("0x21", "21")), None);
    }
}
