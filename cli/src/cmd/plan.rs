//! `plan`: every relocation, with its instruction before and after.

use super::{counts, each_plan, has_program, no_such_program};
use crate::{
    app::App,
    args::{self, Format},
    input::{object::ObjectFile, target::Kernel},
    json,
    render::{
        planned,
        style::{BOLD, DIM},
    },
};
use core_relo::{Plan, explain::Explainer, plan::Planned};
use std::io;

pub(crate) fn run(app: &mut App<'_>, args: &args::Plan) -> io::Result<()> {
    each_plan(app, &args.object, &args.targets, |app, file, kernel, plan| {
        if let Some(wanted) = &args.program
            && !has_program(plan, wanted)
        {
            return app.fail(&no_such_program(file, plan, wanted));
        }
        let is_shown = |planned: &Planned<'_>| {
            let name = planned.function().map(|f| f.name);
            args.program.as_ref().is_none_or(|wanted| name == Some(wanted.as_bytes()))
        };
        match app.format {
            Format::Json => {
                let mut explainer = Explainer::new(plan);
                plan.iter().filter(is_shown).try_for_each(|planned| {
                    let line = json::Relocation::new(&file.name, kernel, &planned, &mut explainer);
                    json::line(app.out, &line)
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
    is_shown: impl Fn(&Planned<'_>) -> bool,
) -> io::Result<()> {
    writeln!(app.out, "{BOLD}{} on {}{BOLD:#}: {}\n", file.name, kernel.name, counts(plan.summary()))?;
    let mut group = None;
    for planned in plan.iter().filter(is_shown) {
        let this = (planned.record().section, planned::program(&planned));
        if group.as_ref() != Some(&this) {
            let program = this.1.as_deref().unwrap_or("no program");
            writeln!(app.out, "{BOLD}{program}{BOLD:#} {DIM}in{DIM:#} {}", this.0)?;
            group = Some(this);
        }
        planned::write(app.out, &planned)?;
    }
    Ok(())
}
