//! `prog run`: a test run of a program that is in the kernel.

use crate::{
    args::test_run::ProgRunArgs,
    cmd::test_run::{RefusedRun, RunProgram, TestRunInput, refusal_help},
    console::Console,
    error::{BadInput, CommandResult},
    kernel_objects::{
        error::{object_name, unreadable_info},
        select::select_one,
    },
};
use core_relo_loader::{
    inventory::{ObjectKind, ProgramInfo, full_program_name},
    object::ProgramType,
};
use std::os::fd::AsFd as _;

pub(super) fn run(console: &mut Console<'_>, args: &ProgRunArgs) -> CommandResult {
    let (id, fd) = select_one(ObjectKind::Program, &args.selector)?;
    let info = ProgramInfo::query(&fd).map_err(|e| unreadable_info(ObjectKind::Program, id, e))?;
    let name = full_program_name(&fd, &info);
    let input = TestRunInput::read(&args.test)?;
    let program_type = ProgramType::from_number(info.prog_type);
    let output = input.run(fd.as_fd(), program_type, &args.test).map_err(|errno| {
        let refused = RefusedRun::of_program_type(info.prog_type);
        let bad = BadInput::new(
            object_name(ObjectKind::Program, id, &name),
            format_args!("cannot be run: {errno}"),
        );
        bad.help(refusal_help(errno, refused, &input, &args.test))
    })?;
    let program = RunProgram { object: None, prog_id: Some(id), name: &name, btf_refusal: None };
    output.report(console, &program, &args.test)
}
