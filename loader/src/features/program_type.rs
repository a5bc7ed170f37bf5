//! The probe of program types.

use super::{
    answer::{PROG_LOAD, ProbeResult, Probed, answer},
    delegation::delegated_program,
    program::{ENOTSUPP, NO_FUNCTION, NO_TYPEDEF, ProbeProgram, RETURN_0, probe_message},
    token::Token,
};
use crate::sys::Errno;
use core_relo_object::object::{AttachType, ProgramType};

/// Probes whether the kernel has a program type.
pub(super) fn probe_type(program_type: ProgramType, token: Token<'_>) -> ProbeResult {
    let program = delegated_program(program_type, token);
    match program_type {
        ProgramType::Unspec => Ok(Probed::no("it is no program type")),
        ProgramType::Tracing => match probe_message(program.at_type(1), &[NO_FUNCTION, NO_TYPEDEF], token) {
            Err(error) => {
                let raw_tp = AttachType::TraceRawTp.number();
                let raw_tp = ProbeProgram::with_attach_type(program_type, raw_tp).at_type(1);
                probe_message(raw_tp, &[NO_TYPEDEF], token).or(Err(error))
            }
            answer => answer,
        },
        ProgramType::Lsm => probe_message(program.at_type(1), &[NO_FUNCTION], token),
        ProgramType::Ext => probe_message(program.at_type(1), &["Cannot replace kernel functions"], token),
        // A kernel with the type misses the struct's type id.
        ProgramType::StructOps => match program.load(&RETURN_0, token) {
            Err(Errno(ENOTSUPP)) => Ok(Probed::yes("BPF_PROG_LOAD: ENOTSUPP, without the id of a struct")),
            result => answer(PROG_LOAD, result),
        },
        _ => answer(PROG_LOAD, program.load(&RETURN_0, token)),
    }
}
