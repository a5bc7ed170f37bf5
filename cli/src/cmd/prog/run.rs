//! `prog run`: a test run of a program that is in the kernel.

use crate::{
    args::test_run::ProgRunArgs,
    cmd::test_run::{RefusedRun, RunProgram, TestRunInput, refusal_help},
    console::Console,
    error::{BadInput, CommandResult},
    kernel_objects::{
        error::{object_name, unreadable},
        kind::Kind,
        names::full_program_name,
        select::select_one,
    },
};
use core_relo_loader::{object::ProgramType, sys};
use std::os::fd::AsFd as _;

pub(super) fn run(console: &mut Console<'_>, args: &ProgRunArgs) -> CommandResult {
    let (id, fd) = select_one(Kind::Prog, &args.selector)?;
    let info = sys::prog_info(&fd).map_err(|e| unreadable(Kind::Prog, id, "its properties", e))?;
    let name = full_program_name(&fd, &info);
    let input = TestRunInput::read(&args.test)?;
    let program_type = ProgramType::from_number(info.prog_type);
    let output = input.run(fd.as_fd(), program_type, &args.test).map_err(|errno| {
        let refused = RefusedRun::of_program_type(info.prog_type);
        let bad = BadInput::new(object_name(Kind::Prog, id, &name), format_args!("cannot be run: {errno}"));
        bad.help(refusal_help(errno, refused, &input, &args.test))
    })?;
    let program = RunProgram { object: None, prog_id: Some(id), name: &name, btf_refusal: None };
    output.report(console, &program, &args.test)
}
