//! `explain --relocation`: one relocation, even if it resolves. Also the relocations of a subprogram.

use crate::cmd::plans::{PlanRequest, check_program, for_each_kernel};
use crate::{
    args::relocate::{ExplainArgs, RelocationArgs, RelocationRef},
    console::{Console, ExitStatus},
    describe,
    error::{BadInput, CommandResult},
    format::Format,
    input::object::ObjectFile,
    json::plan::ExplainedRelocationJson,
    text::{explanation, line::Line, style::GOOD},
};
use core_relo::{Plan, explain::Explainer, plan::PlannedReloc};
use core_relo_kernels::Kernel;
use std::{io, slice};

pub(super) fn run(console: &mut Console<'_>, args: &ExplainArgs) -> CommandResult {
    let request = PlanRequest {
        objects: slice::from_ref(&args.object),
        kernels: &args.kernels,
        settings: &args.settings,
        config: &args.config,
        loader: args.evidence.loader.loader,
        program: args.program.as_deref(),
        relocation: RelocationArgs::default(),
    };
    for_each_kernel(console, request, &mut |console, file, kernel, plan| {
        if let Some(name) = &args.program {
            check_program(file, plan.relocs().code(), name)?;
        }
        let shown: Vec<_> = plan.iter().filter(|planned| is_shown(planned, args)).collect();
        if let (Some(relocation), true) = (&args.relocation, shown.is_empty()) {
            return Err(no_such_relocation(file, args, relocation).into());
        }
        Ok(write_explanations(console, file, kernel, plan, &shown)?)
    })
}

/// Explains the relocations of a function that do not resolve.
pub(super) fn explain_function(
    console: &mut Console<'_>,
    file: &ObjectFile,
    kernel: &Kernel,
    plan: &Plan<'_>,
    name: &str,
) -> io::Result<()> {
    let in_function =
        |planned: &PlannedReloc<'_>| planned.function().is_some_and(|f| f.name == name.as_bytes());
    let shown: Vec<_> = plan.iter().filter(describe::is_unresolved).filter(in_function).collect();
    console.raise_exit(if shown.is_empty() { ExitStatus::Success } else { ExitStatus::Incompatible });
    write_explanations(console, file, kernel, plan, &shown)
}

/// Prints the explanations of the `shown` relocations. If there are none, prints that all relocations
/// resolve.
fn write_explanations<'p>(
    console: &mut Console<'_>,
    file: &ObjectFile,
    kernel: &Kernel,
    plan: &'p Plan<'_>,
    shown: &[PlannedReloc<'p>],
) -> io::Result<()> {
    let mut explainer = Explainer::new(plan);
    for planned in shown {
        match console.format {
            Format::Json => {
                let line = ExplainedRelocationJson::new(&file.name, &kernel.name, planned, &mut explainer);
                console.out.json(&line)?;
            }
            Format::Text => {
                let explanation = explainer.explain(planned);
                explanation::write(&mut console.out, &file.name, &kernel.name, planned, &explanation)?;
            }
        }
    }
    if shown.is_empty() && console.format == Format::Text {
        let counts = describe::summary(plan.summary());
        let text = format!(": {} on {}: {counts}", file.name, kernel.name);
        console.out.line(Line::new().styled(GOOD, "resolved").text(text))?;
    }
    Ok(())
}

/// Returns whether the arguments select a relocation.
fn is_shown(planned: &PlannedReloc<'_>, args: &ExplainArgs) -> bool {
    let record = planned.record();
    let in_program = args.program.as_ref().is_none_or(|wanted| {
        let name = planned.function().map(|f| f.name);
        name == Some(wanted.as_bytes())
    });
    in_program
        && match &args.relocation {
            None => false,
            Some(wanted) => {
                let section = wanted.section.as_ref();
                wanted.index_in_section == record.index_in_section
                    && section.is_none_or(|s| s.as_bytes() == record.section.as_bytes())
            }
        }
}

fn no_such_relocation(file: &ObjectFile, args: &ExplainArgs, wanted: &RelocationRef) -> BadInput {
    let section = wanted.section.as_ref().map_or_else(String::new, |s| format!(" in section `{s}`"));
    let program = args.program.as_ref().map_or_else(String::new, |p| format!(" of program `{p}`"));
    let what = format!("no relocation {}{section}{program}", wanted.index_in_section);
    BadInput::new(&*file.name, what).help("`core-relo plan` lists the relocations")
}
