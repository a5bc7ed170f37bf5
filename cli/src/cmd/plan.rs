//! `plan`: every relocation, with its instruction before and after.

use super::plans::{PlanRequest, check_program, for_each_kernel, is_of_program, shown_summary};
use crate::{
    args::relocate::PlanArgs,
    console::Console,
    describe,
    error::CommandResult,
    format::Format,
    json::plan::PlannedRelocationJson,
    plan_error::ZERO_EXTEND_HELP,
    text::{
        line::Line,
        plan,
        style::{BOLD, DIM},
    },
};
use core_relo::{Plan, explain::Explainer, plan::PlannedReloc};
use std::io;

pub(crate) fn run(console: &mut Console<'_>, args: &PlanArgs) -> CommandResult {
    let request = PlanRequest {
        objects: &args.objects,
        kernels: &args.kernels,
        settings: &args.settings,
        config: &args.config,
        loader: None,
        program: args.program.as_deref(),
        relocation: args.relocation,
    };
    for_each_kernel(console, request, &mut |console, file, kernel, plan| {
        if let Some(name) = &args.program {
            check_program(file, plan.relocs().code(), name)?;
        }
        let is_shown = |planned: &PlannedReloc<'_>| {
            args.program.as_ref().is_none_or(|wanted| is_of_program(planned, wanted))
        };
        match console.format {
            Format::Json => {
                let mut explainer = Explainer::new(plan);
                Ok(plan.iter().filter(is_shown).try_for_each(|planned| {
                    let line = PlannedRelocationJson::new(&file.name, &kernel.name, &planned, &mut explainer);
                    console.out.json(&line)
                })?)
            }
            Format::Text => {
                let summary = shown_summary(plan, args.program.as_deref());
                let title = Line::new().styled(BOLD, format_args!("{} on {}", file.name, kernel.name));
                console.out.line(title.text(format_args!(": {}", describe::summary(summary))))?;
                console.out.line("")?;
                write_text(console, plan, is_shown)?;
                let fails = |planned: PlannedReloc<'_>| {
                    is_shown(&planned) && planned.decision().is_err_and(|e| e.is_sign_extension())
                };
                if plan.iter().any(fails) { Ok(console.note(ZERO_EXTEND_HELP)?) } else { Ok(()) }
            }
        }
    })
}

fn write_text(
    console: &mut Console<'_>,
    plan: &Plan<'_>,
    is_shown: impl Fn(&PlannedReloc<'_>) -> bool,
) -> io::Result<()> {
    let mut last_program = None;
    for planned in plan.iter().filter(is_shown) {
        let program = (planned.record().section, describe::program_name(&planned));
        if last_program.as_ref() != Some(&program) {
            let name = program.1.as_deref().unwrap_or("no program");
            let title = Line::new().styled(BOLD, name).text(" ").styled(DIM, "in");
            console.out.line(title.text(format_args!(" {}", program.0)))?;
            last_program = Some(program);
        }
        plan::write(&mut console.out, &planned)?;
    }
    Ok(())
}
