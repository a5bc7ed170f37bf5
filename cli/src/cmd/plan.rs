//! `plan`: every relocation, with its instruction before and after.

use super::{counts, each_plan, has_program, no_such_program};
use crate::{
    app::App,
    args::{self, Format},
    input::{object::ObjectFile, target::Kernel},
    json,
    line::Line,
    render::{
        planned,
        style::{BOLD, DIM},
    },
};
use core_relo::{Plan, explain::Explainer, plan::PlannedReloc};
use std::io;

pub(crate) fn run(app: &mut App<'_>, args: &args::Plan) -> io::Result<()> {
    each_plan(app, &args.object, &args.targets, |app, file, kernel, plan| {
        if let Some(wanted) = &args.program
            && !has_program(plan, wanted)
        {
            return app.fail(&no_such_program(file, plan, wanted));
        }
        let is_shown = |planned: &PlannedReloc<'_>| {
            let name = planned.function().map(|f| f.name);
            args.program.as_ref().is_none_or(|wanted| name == Some(wanted.as_bytes()))
        };
        match app.format {
            Format::Json => {
                let mut explainer = Explainer::new(plan);
                plan.iter().filter(is_shown).try_for_each(|planned| {
                    app.out.json(&json::Relocation::new(&file.name, kernel, &planned, &mut explainer))
                })
            }
            Format::Text => text(app, file, kernel, plan, is_shown),
        }
    })
}

fn text(
    app: &mut App<'_>,
    file: &ObjectFile,
    kernel: &Kernel,
    plan: &Plan<'_>,
    is_shown: impl Fn(&PlannedReloc<'_>) -> bool,
) -> io::Result<()> {
    let title = Line::new().styled(BOLD, format_args!("{} on {}", file.name, kernel.name));
    app.out.line(title.text(format_args!(": {}", counts(plan.summary()))))?;
    app.out.line("")?;
    let mut group = None;
    for planned in plan.iter().filter(is_shown) {
        let this = (planned.record().section, planned::program(&planned));
        if group.as_ref() != Some(&this) {
            let program = this.1.as_deref().unwrap_or("no program");
            let title = Line::new().styled(BOLD, program).text(" ").styled(DIM, "in");
            app.out.line(title.text(format_args!(" {}", this.0)))?;
            group = Some(this);
        }
        planned::write(&mut app.out, &planned)?;
    }
    Ok(())
}
