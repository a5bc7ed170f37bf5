//! `load --adaptive`: chooses among the variants of an object.

use super::{
    dry_run::DryRunKernel,
    loaded_object::{LoadFailure, LoadedObject},
    object_loader::ObjectLoader,
};
use crate::{
    args::load::AttachRequest,
    attach_point,
    cmd::verdicts::{exit_status, variants::is_about_kernel},
    console::ExitStatus,
    error::{BadInput, CommandResult},
    format::Format,
    input::{object::ObjectFile, variant_table},
    json::load as json,
    settings::Setting,
    text::{
        line::Line,
        style::{BOLD, ERROR, GOOD},
    },
};
use core_relo_adaptive::{
    AdaptiveError, AdaptiveLoad, AdaptiveLoader, AttemptError, LinkReport, ReportedKernel, StartupReport,
    variants::{ObjectVariants, VariantTable},
};
use core_relo_loader::{
    Global, Loader, load::check_reused_maps, load_plan::LoadPlan, object::Object, target,
};
use std::{fmt, io, path::Path};

/// Reads the table of an object: its declaration tags, and a file. A table without entries is an error.
pub(super) fn read_table(
    file: &ObjectFile,
    object: &Object<'_>,
    path: Option<&Path>,
) -> Result<VariantTable, BadInput> {
    let given = path.map(variant_table::read_variants).transpose()?;
    let table = variant_table::object_variants(file, object, given.as_ref())?;
    if table.is_empty() {
        let bad = BadInput::new(&*file.name, "declares no variants");
        return Err(bad.help("declare them with the macros of core_relo.h (`core-relo gen header`), or give a table with --variants"));
    }
    Ok(table)
}

impl ObjectLoader<'_, '_, '_, '_> {
    /// Chooses variants of the object, loads or plans them, and prints the outcome. Returns the object if it
    /// stays loaded after the command.
    pub(super) fn run_adaptive(
        self,
        loader: &Loader<'_, '_>,
        table: &VariantTable,
        kernel: Option<&DryRunKernel>,
    ) -> CommandResult<Option<LoadedObject>> {
        let adaptive = AdaptiveLoader::new(loader, table).map_err(|e| BadInput::new(&*self.file.name, e))?;
        self.check_attach_requests(adaptive.variants())?;
        self.check_set_globals(loader, adaptive.variants())?;
        match kernel {
            Some(kernel) => self.plan_adaptive(adaptive, kernel, loader),
            None => self.load_adaptive(&adaptive),
        }
    }

    /// Checks that some choice of variants loads each program of `--attach-to`, and that its attach point
    /// fits. The kernel's refusal would only lead to the next alternative.
    fn check_attach_requests(&self, variants: &ObjectVariants) -> Result<(), BadInput> {
        for AttachRequest { program: name, point } in &self.args.attach_to {
            let bad =
                |what: String| BadInput::new(&*self.file.name, format_args!("program `{name}`: {what}"));
            let found = self.object.programs().iter().find(|program| program.name() == name.as_bytes());
            let program = found.ok_or_else(|| bad("the object has no such program".into()))?;
            if !program.autoload() && !variants.may_leave_out(name) {
                let bad = bad("no choice of variants loads it, so it cannot be attached".into());
                return Err(bad.help("its section begins with `?`: name it in a group of variants"));
            }
            if let Some(def) = program.sec_def() {
                point
                    .check_fits(def.program_type, def.attach_type)
                    .map_err(|error| bad(attach_point::explain(error)))?;
            }
        }
        Ok(())
    }

    /// Checks that `--set` sets no constant whose value the variants decide. An optional constant keeps the
    /// value if the kernel has no other.
    fn check_set_globals(&self, loader: &Loader<'_, '_>, variants: &ObjectVariants) -> Result<(), BadInput> {
        let constants = variants.constants().iter().filter(|own| !own.is_optional).map(|own| &own.global);
        let decided: Vec<_> = variants.indicators().map(|(own, _)| own).chain(constants).collect();
        for Setting { name, .. } in &self.args.setup.settings.set {
            let bad = |what: String| BadInput::new(&*self.file.name, what);
            let set = loader.find_global(name).map_err(|e| bad(e.to_string()))?;
            let is_set = |own: &Global| own.section == set.section && own.offset == set.offset;
            if decided.iter().any(|own| is_set(&own.global)) {
                let bad = bad(format!("--set {name}: the variants decide the value of this constant"));
                return Err(
                    bad.help("leave out --set: the value comes from the kernel's types or the choice")
                );
            }
        }
        Ok(())
    }

    fn plan_adaptive(
        mut self,
        adaptive: AdaptiveLoader<'_, '_, '_>,
        kernel: &DryRunKernel,
        loader: &Loader<'_, '_>,
    ) -> CommandResult<Option<LoadedObject>> {
        let judge =
            |settings: &_| kernel.judge(self.file, loader.object(), settings).map_err(|bad| bad.to_string());
        let features = kernel.features(self.file, loader.object(), loader.settings())?;
        let adaptive = adaptive.judged_by(judge).features(features).kernel(kernel_identity(kernel));
        let planned = adaptive.plan();
        match planned {
            Ok(AdaptiveLoad { value: plan, report, .. }) => {
                let status = report.verdict.map_or(ExitStatus::Error, |verdict| exit_status(verdict, false));
                self.console.raise_exit(status);
                if let Err(e) = check_reused_maps(&plan, self.kernel) {
                    self.report = Some(report);
                    self.report_refusal(None, &e)?;
                } else {
                    self.report_adaptive_plan(&plan, &report)?;
                }
                Ok(None)
            }
            Err(e) => self.report_adaptive_error(e),
        }
    }

    fn load_adaptive(mut self, adaptive: &AdaptiveLoader<'_, '_, '_>) -> CommandResult<Option<LoadedObject>> {
        let requested = self.args.attach_to.iter().map(|request| &request.program);
        let left_out = requested.filter(|program| adaptive.variants().may_leave_out(program));
        self.left_out = left_out.cloned().collect();
        let loaded = adaptive.load_with(|loader, plan| match self.load(loader, plan) {
            Ok(object) => {
                let links = object.links.iter().map(LinkReport::new).collect();
                Ok(((object, plan.clone()), links))
            }
            // A load that a signal ended says nothing about the alternative.
            Err(_) if self.kernel.is_interrupted() => Err(AttemptError::Other(LoadFailure::Interrupted)),
            Err(LoadFailure::Load(cause)) => Err(AttemptError::Load(cause)),
            Err(LoadFailure::Attach { stage: "attach", cause }) => Err(AttemptError::Attach(cause)),
            Err(other) => Err(AttemptError::Other(other)),
        });
        match loaded {
            Ok(AdaptiveLoad { value: (object, plan), report, .. }) => {
                self.report = Some(report);
                Ok(self.finish(&plan, object)?)
            }
            Err(e) => self.report_adaptive_error(e),
        }
    }

    /// Reports why no variant is loaded.
    fn report_adaptive_error<E: Into<LoadFailure> + fmt::Display>(
        &mut self,
        error: AdaptiveError<E>,
    ) -> CommandResult<Option<LoadedObject>> {
        self.report = error.report().cloned();
        match error {
            AdaptiveError::Variants(e) if !is_about_kernel(&e) => {
                return Err(BadInput::new(&*self.file.name, e).into());
            }
            AdaptiveError::Load { cause, .. } => self.report_refusal(None, &cause)?,
            AdaptiveError::Attach { cause, .. } => {
                self.report_attach_failure("attach", &cause)?;
            }
            AdaptiveError::Other { cause, .. } => match cause.into() {
                LoadFailure::Load(cause) => self.report_refusal(None, &cause)?,
                LoadFailure::Attach { stage, cause } => {
                    self.report_attach_failure(stage, &cause)?;
                }
                LoadFailure::Events(bad) => return Err(bad.into()),
                LoadFailure::Interrupted => {}
            },
            other => self.report_unloadable(&other.to_string())?,
        }
        Ok(None)
    }

    /// Reports an object of which no alternative of a group works, or for which the kernel's types lack a
    /// name.
    fn report_unloadable(&mut self, error: &str) -> io::Result<()> {
        self.console.raise_exit(ExitStatus::Incompatible);
        if self.console.format == Format::Json {
            let outcome = json::exhausted(&self.file.name, error);
            return self.console.out.json(&self.with_report(outcome));
        }
        let line = Line::new().styled(ERROR, "refused").text(format_args!("  {}: {error}", self.file.name));
        self.console.out.line(line)?;
        self.print_report()
    }

    fn report_adaptive_plan(&mut self, plan: &LoadPlan, report: &StartupReport) -> io::Result<()> {
        if self.console.format == Format::Json {
            let outcome = json::planned(&self.file.name, plan, None).with_report(report);
            return self.console.out.json(&outcome);
        }
        self.console
            .out
            .line(Line::new().styled(GOOD, "planned").text("  ").styled(BOLD, &self.file.name))?;
        print_lines(self, report)
    }

    /// Adds the start-up report to an outcome, if there is one.
    pub(super) fn with_report<'l>(&self, outcome: json::LoadOutcome<'l>) -> json::LoadOutcome<'l> {
        match &self.report {
            Some(report) => outcome.with_report(report),
            None => outcome,
        }
    }

    /// Prints the start-up report, if there is one.
    pub(super) fn print_report(&mut self) -> io::Result<()> {
        match self.report.take() {
            Some(report) => print_lines(self, &report),
            None => Ok(()),
        }
    }
}

/// Prints a report, without its first line, which names the object. The report is escaped already.
fn print_lines(loader: &mut ObjectLoader<'_, '_, '_, '_>, report: &StartupReport) -> io::Result<()> {
    let text = report.to_string();
    text.lines().skip(1).try_for_each(|line| loader.console.out.line(Line::new().formatted(line)))
}

/// Describes the kernel of a dry run.
fn kernel_identity(kernel: &DryRunKernel) -> ReportedKernel {
    let mut btf_source = kernel.kernel.name.clone();
    if let Some(other) = &kernel.relocated_against {
        btf_source = format!("{btf_source}, relocations against {}", other.name);
    }
    let architecture = target::find_architecture(&kernel.kernel.target.vmlinux().btf).map(str::to_owned);
    ReportedKernel { release: kernel.kernel.release(), architecture, btf_source: Some(btf_source) }
}
