//! `explain`: what does not resolve, why, and what would mend it.

use super::{counts, each_plan, has_program, no_such_program};
use crate::{
    app::App,
    args::{self, Format, RelocationRef},
    error::BadInput,
    input::{object::ObjectFile, target::Kernel},
    json,
    line::Line,
    render::{explained, style::GOOD},
};
use core_relo::{
    Plan,
    explain::Explainer,
    plan::{Decision, PlannedReloc},
};
use std::io;

pub(crate) fn run(app: &mut App<'_>, args: &args::Explain) -> io::Result<()> {
    each_plan(app, &args.object, &args.targets, |app, file, kernel, plan| {
        if let Some(wanted) = &args.program
            && !has_program(plan, wanted)
        {
            return app.fail(&no_such_program(file, plan, wanted));
        }
        let shown: Vec<_> = plan.iter().filter(|p| is_shown(p, args)).collect();
        if let (Some(wanted), true) = (&args.relocation, shown.is_empty()) {
            return app.fail(&no_such_relocation(file, args, wanted));
        }
        write(app, file, kernel, plan, &shown)
    })
}

/// Writes the explanations of some records, or that all is well.
pub(crate) fn write<'p>(
    app: &mut App<'_>,
    file: &ObjectFile,
    kernel: &Kernel,
    plan: &'p Plan<'_>,
    shown: &[PlannedReloc<'p>],
) -> io::Result<()> {
    let mut explainer = Explainer::new(plan);
    for planned in shown {
        match app.format {
            Format::Json => {
                app.out.json(&json::Explained::new(&file.name, kernel, planned, &mut explainer))?;
            }
            Format::Text => {
                let explanation = explainer.explain(planned);
                explained::write(&mut app.out, &file.name, &kernel.name, planned, &explanation)?;
            }
        }
    }
    if shown.is_empty() && app.format == Format::Text {
        let counts = counts(plan.summary());
        let rest = format!(": {} on {}: {counts}", file.name, kernel.name);
        app.out.line(Line::new().styled(GOOD, "resolved").text(rest))?;
    }
    Ok(())
}

/// Whether a record does not resolve.
pub(crate) fn is_unresolved(planned: &PlannedReloc<'_>) -> bool {
    matches!(planned.decision(), Err(_) | Ok(Decision::Poison { .. }))
}

fn is_shown(planned: &PlannedReloc<'_>, args: &args::Explain) -> bool {
    let record = planned.record();
    let in_program = args.program.as_ref().is_none_or(|wanted| {
        let name = planned.function().map(|f| f.name);
        name == Some(wanted.as_bytes())
    });
    in_program
        && match &args.relocation {
            None => is_unresolved(planned),
            Some(wanted) => {
                let section = wanted.section.as_ref();
                wanted.number == record.index
                    && section.is_none_or(|s| s.as_bytes() == record.section.as_bytes())
            }
        }
}

fn no_such_relocation(file: &ObjectFile, args: &args::Explain, wanted: &RelocationRef) -> BadInput {
    let section = wanted.section.as_ref().map(|s| format!(" in section `{s}`")).unwrap_or_default();
    let program = args.program.as_ref().map(|p| format!(" of program `{p}`")).unwrap_or_default();
    let what = format!("no relocation {}{section}{program}", wanted.number);
    BadInput::new(&*file.name, what).help("`core-relo plan` lists them")
}
