//! The choice of a program type that a BPF token delegates, for probes that any of several types answers.

use super::{program::ProbeProgram, token::Token};
use crate::{
    sys::Errno,
    token_scope::{TokenRequest, TokenScope},
};
use core_relo_object::object::{AttachType, ProgramType};

/// Calls `load` with each program type until the token delegates one. Without a token, only the first type
/// counts.
pub(super) fn with_delegated_type<T>(
    types: &[ProgramType],
    token: Token<'_>,
    load: &mut dyn FnMut(ProbeProgram) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let plain = types.iter().copied().map(ProbeProgram::new);
    match token {
        None => load_first(plain.take(1), load),
        Some(token) => match TokenScope::read(token) {
            Some(scope) => load_first(types.iter().filter_map(|ty| in_scope(&scope, *ty)), load),
            None => load_first(plain.filter(|program| needs_privileges(program.program_type)), load),
        },
    }
}

/// Returns the program of a type with an attach type that the token delegates, or with the usual one.
pub(super) fn delegated_program(program_type: ProgramType, token: Token<'_>) -> ProbeProgram {
    let delegated = token.and_then(TokenScope::read).and_then(|scope| in_scope(&scope, program_type));
    delegated.unwrap_or_else(|| ProbeProgram::new(program_type))
}

/// Returns the program of a type with an attach type that the scope delegates: the usual one, or the first of
/// the others.
fn in_scope(scope: &TokenScope, program_type: ProgramType) -> Option<ProbeProgram> {
    let others = AttachType::ALL.iter().filter(|attach_type| {
        // The attach type of a struct_ops program is the member of its struct.
        program_type != ProgramType::StructOps && attach_type.program_type() == Some(program_type)
    });
    let others = others.map(|attach_type| ProbeProgram::with_attach_type(program_type, attach_type.number()));
    core::iter::once(ProbeProgram::new(program_type)).chain(others).find(|program| {
        scope.delegates(TokenRequest::Program {
            program_type: program.program_type.number(),
            attach_type: program.attach_type,
        })
    })
}

/// Returns whether the kernel refuses programs of a type without privileges. If the token does not delegate
/// one of the other types, the kernel may load it as that of an unprivileged process, with other limits
/// (kernel: `is_perfmon_prog_type`, `is_net_admin_prog_type`).
const fn needs_privileges(program_type: ProgramType) -> bool {
    !matches!(program_type, ProgramType::SocketFilter | ProgramType::CgroupSkb)
}

/// Returns the result of the first program that the kernel does not refuse for lack of privileges.
fn load_first<T>(
    programs: impl Iterator<Item = ProbeProgram>,
    load: &mut dyn FnMut(ProbeProgram) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let mut result = Err(Errno(libc::EPERM));
    for program in programs {
        result = load(program);
        if !matches!(result, Err(Errno(libc::EPERM))) {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs::File, os::fd::AsFd as _};

    const TYPES: [ProgramType; 3] =
        [ProgramType::SocketFilter, ProgramType::CgroupSockAddr, ProgramType::Kprobe];

    /// A kernel that loads socket filters without privileges, with the limits of an unprivileged process.
    fn load(program: ProbeProgram) -> Result<ProgramType, Errno> {
        match program.program_type {
            ProgramType::SocketFilter => Err(Errno(libc::E2BIG)),
            ProgramType::CgroupSockAddr => Err(Errno(libc::EPERM)),
            program_type => Ok(program_type),
        }
    }

    #[test]
    fn a_type_that_needs_no_privileges_is_no_answer_of_a_token_of_unknown_scope() {
        // The descriptor's fdinfo has no scope.
        let no_token = File::open("/dev/null").unwrap();
        let answer = with_delegated_type(&TYPES, Some(no_token.as_fd()), &mut load);
        assert_eq!(answer, Ok(ProgramType::Kprobe));
        assert_eq!(with_delegated_type(&TYPES, None, &mut load), Err(Errno(libc::E2BIG)));
    }

    #[test]
    fn only_delegated_pairs_of_program_and_attach_type_are_tried() {
        let scope = |programs: &str, attach_types: &str| {
            let fdinfo = format!(
                "allowed_cmds:\tany\nallowed_maps:\tany\nallowed_progs:\t{programs}\nallowed_attachs:\t{attach_types}\n"
            );
            TokenScope::parse(&fdinfo).unwrap()
        };
        let tried = |scope: &TokenScope| TYPES.map(|program_type| in_scope(scope, program_type).is_some());
        assert_eq!(tried(&scope("any", "any")), [true; 3]);
        // Kprobes, for no attach type.
        assert_eq!(tried(&scope("0x4", "0x1")), [false, false, true]);
        // Programs of type CGROUP_SOCK_ADDR are loaded for BPF_CGROUP_INET4_CONNECT.
        assert_eq!(tried(&scope("any", "0x400")), [false, true, false]);
        // `delegate_attachs=xdp`, and another attach type than the usual one.
        let found = |scope: TokenScope, program_type| in_scope(&scope, program_type).map(|p| p.attach_type);
        assert_eq!(found(scope("0x40", "0x2000000000"), ProgramType::Xdp), Some(AttachType::Xdp.number()));
        assert_eq!(
            found(scope("any", "0x800"), ProgramType::CgroupSockAddr),
            Some(AttachType::CgroupInet6Connect.number())
        );
        assert_eq!(found(scope("any", "0x2000000000"), ProgramType::StructOps), None);
    }
}
