//! `plan`: every relocation, with its instruction before and after.

use super::plans::{PlanRequest, check_program, for_each_kernel};
use crate::{
    args::{format::Format, relocate::PlanArgs},
    console::Console,
    describe,
    input::{kernel::parsed::Kernel, object::ObjectFile},
    json::plan::PlannedRelocationJson,
    text::{
        line::Line,
        plan,
        style::{BOLD, DIM},
    },
};
use core_relo::{Plan, explain::Explainer, plan::PlannedReloc};
use std::io;

pub(crate) fn run(console: &mut Console<'_>, args: &PlanArgs) -> io::Result<()> {
    let request = PlanRequest {
        objects: &args.objects,
        kernels: &args.kernels,
        settings: &args.settings,
        program: args.program.as_deref(),
    };
    for_each_kernel(console, request, &mut |console, file, kernel, plan| {
        if let Some(name) = &args.program
            && let Err(bad) = check_program(file, plan.relocs().code(), name)
        {
            return console.report_error(&bad);
        }
        let is_shown = |planned: &PlannedReloc<'_>| {
            let name = planned.function().map(|f| f.name);
            args.program.as_ref().is_none_or(|wanted| name == Some(wanted.as_bytes()))
        };
        match console.format {
            Format::Json => {
                let mut explainer = Explainer::new(plan);
                plan.iter().filter(is_shown).try_for_each(|planned| {
                    let line = PlannedRelocationJson::new(&file.name, &kernel.name, &planned, &mut explainer);
                    console.out.json(&line)
                })
            }
            Format::Text => write_text(console, file, kernel, plan, is_shown),
        }
    })
}

fn write_text(
    console: &mut Console<'_>,
    file: &ObjectFile,
    kernel: &Kernel,
    plan: &Plan<'_>,
    is_shown: impl Fn(&PlannedReloc<'_>) -> bool,
) -> io::Result<()> {
    let title = Line::new().styled(BOLD, format_args!("{} on {}", file.name, kernel.name));
    console.out.line(title.text(format_args!(": {}", describe::summary(plan.summary()))))?;
    console.out.line("")?;
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
