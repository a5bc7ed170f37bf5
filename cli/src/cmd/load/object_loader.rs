//! The steps of loading one object, and the report of the outcome.

use super::{
    loaded_object::{LoadFailure, LoadedObject},
    report::{print_btf_refusal, print_links, print_load_refusal, print_log, unknown_name},
};
use crate::{
    args::load::{AttachRequest, LoadArgs},
    attach_point,
    budget::stats::ProgramStats,
    cmd::{
        budget_gate::{BudgetGate, LoadedProgram},
        verdicts::{exit_status, reasons::reason_lines},
    },
    console::{Console, ExitStatus},
    describe,
    error::BadInput,
    events::EventSource,
    format::Format,
    input::object::ObjectFile,
    json::load as json,
    plan_error::{lacks_only_facts, load_message},
    process::interrupt::InterruptibleKernel,
    text::{
        line::Line,
        style::{BOLD, DIM, ERROR, GOOD, verdict_style},
    },
};
use core_relo_adaptive::StartupReport;
use core_relo_kernels::running_release;
use core_relo_loader::{
    Loader,
    attach::AttachError,
    inventory::{InfoError, MapInfo, ProgramInfo},
    load::{LoadError, Loaded, RemainingPins, check_reused_maps, retry_taken_pins},
    load_plan::LoadPlan,
    object::Object,
};
use core_relo_verdict::{
    judge::{ObjectVerdict, Verdict},
    loaders::LoaderKind,
};
use std::{io, path::Path};

/// The reason why `--attach` does not attach a program without an attach target in its section.
const NO_TARGET: &str = "its section names no target: name one with --attach-to";

/// The steps of loading one object, and its report.
pub(super) struct ObjectLoader<'a, 'w, 'd, 's> {
    pub(super) console: &'a mut Console<'w>,
    pub(super) args: &'a LoadArgs,
    /// The directory in which the object is pinned.
    pub(super) pin_dir: Option<&'a Path>,
    pub(super) file: &'a ObjectFile,
    pub(super) object: &'a Object<'d>,
    pub(super) kernel: &'a InterruptibleKernel<'s>,
    /// The verdict of a dry run.
    pub(super) verdict: Option<&'a ObjectVerdict>,
    pub(super) budget: &'a mut BudgetGate,
    /// The maps whose records are printed.
    pub(super) events: &'a [EventSource],
    /// The programs of `--attach-to` that the chosen variants may leave out.
    pub(super) left_out: Vec<String>,
    /// The start-up report of an adaptive load.
    pub(super) report: Option<StartupReport>,
}

impl ObjectLoader<'_, '_, '_, '_> {
    /// Loads or plans the object and prints the outcome. Returns the object if it stays loaded after the
    /// command.
    pub(super) fn run(mut self, loader: &Loader<'_, '_>) -> io::Result<Option<LoadedObject>> {
        if self.args.each {
            return self.load_each(loader).map(|()| None);
        }
        let plan = match loader.plan() {
            Ok(plan) => plan,
            Err(e) => return self.report_plan_error(&e).map(|()| None),
        };
        if let Some(verdict) = self.verdict {
            if let Err(e) = check_reused_maps(&plan, self.kernel) {
                // The verdict does not know the maps of the running kernel.
                self.verdict = None;
                return self.report_refusal(None, &e).map(|()| None);
            }
            self.console.raise_exit(exit_status(verdict.verdict, false));
            return self.report_plan(&plan).map(|()| None);
        }
        if let Err(bad) = self.check_attach_points(&plan) {
            return self.console.report_load_error(&self.file.name, &bad).map(|()| None);
        }
        match self.load(loader, &plan) {
            Ok(object) => self.finish(&plan, object),
            Err(_) if self.kernel.is_interrupted() => Ok(None),
            Err(LoadFailure::Load(e)) => self.report_refusal(None, &e).map(|()| None),
            Err(LoadFailure::Attach { stage, cause }) => {
                self.report_attach_failure(stage, &cause).map(|()| None)
            }
            Err(LoadFailure::Events(bad)) => {
                self.console.report_load_error(&self.file.name, &bad).map(|()| None)
            }
            Err(LoadFailure::Interrupted) => Ok(None),
        }
    }

    /// Loads, attaches and pins the object. Tries again if another process pins one of its maps at the same
    /// time.
    pub(super) fn load(&self, loader: &Loader<'_, '_>, plan: &LoadPlan) -> Result<LoadedObject, LoadFailure> {
        // Only errors of the load itself are a reason for another attempt.
        let attempt = |remaining: &RemainingPins| match self.try_load(loader, plan, remaining) {
            Err(LoadFailure::Load(error)) => Err(error),
            result => Ok(result),
        };
        retry_taken_pins(attempt)?
    }

    fn try_load(
        &self,
        loader: &Loader<'_, '_>,
        plan: &LoadPlan,
        remaining: &RemainingPins,
    ) -> Result<LoadedObject, LoadFailure> {
        let mut loaded = loader.execute_unpinned(plan, self.kernel)?;
        loaded.adopt_pins(remaining, self.kernel);
        let mut object = LoadedObject::new(loaded);
        object.is_adaptive = self.args.adaptive;
        // A perf event array loses the samples of programs that are attached before it is opened.
        object.open_events(self.events)?;
        if let Err(failure) = self.attach(&mut object, plan) {
            return Err(match self.pin_dir {
                // An adaptive load tries the next alternative, which may have other pins.
                Some(dir) if !self.args.adaptive => object.explain_taken(failure, dir),
                _ => failure,
            });
        }
        if let Some(dir) = self.pin_dir {
            object.pin(self.kernel, dir)?;
        }
        Ok(object)
    }

    /// Attaches the programs as `--attach` and `--attach-to` say.
    fn attach(&self, object: &mut LoadedObject, plan: &LoadPlan) -> Result<(), LoadFailure> {
        if self.args.attach {
            object.attach(self.kernel)?;
        }
        let is_loaded = |request: &&AttachRequest| {
            !self.left_out.contains(&request.program)
                || plan.programs().iter().any(|program| program.name() == request.program)
        };
        object.attach_to(self.kernel, self.args.attach_to.iter().filter(is_loaded))
    }

    /// Checks that the programs of `--attach-to` can have their attach points, before anything is loaded.
    fn check_attach_points(&self, plan: &LoadPlan) -> Result<(), BadInput> {
        for AttachRequest { program, point } in &self.args.attach_to {
            let bad = |what: String| {
                BadInput::new(&*self.file.name, format_args!("program `{program}`: {what}"))
                    .for_program(program)
            };
            let planned = plan.programs().iter().find(|planned| planned.name() == program);
            let planned = planned.ok_or_else(|| {
                bad("it is not loaded, so it cannot be attached".into()).help("select it with --program")
            })?;
            point
                .check_fits(planned.program_type(), planned.expected_attach_type())
                .map_err(|error| bad(attach_point::explain(error)))?;
        }
        Ok(())
    }

    /// Loads each program by itself.
    fn load_each(&mut self, loader: &Loader<'_, '_>) -> io::Result<()> {
        let programs = self.object.programs().iter().filter(|p| !p.is_subprogram);
        let names: Vec<_> = programs.map(|p| String::from_utf8_lossy(p.name()).into_owned()).collect();
        if names.is_empty() {
            return self.console.note(&format!("{}: it has no programs", self.file.name));
        }
        if let Some(unknown) = self.args.program.iter().find(|p| !names.contains(p)) {
            let bad = BadInput::new(&*self.file.name, format!("it has no program `{unknown}`"));
            let bad = bad.for_program(unknown).help(format!("it has {}", names.join(", ")));
            return self.console.report_load_error(&self.file.name, &bad);
        }
        let release = running_release();
        for name in &names {
            let program = LoadedProgram { kernel: &release, object: &self.file.name, program: name };
            if !self.args.program.is_empty() && !self.args.program.contains(name) {
                self.budget.record_excluded(program);
                continue;
            }
            let mut loader = loader.clone();
            loader.select_programs([name.as_str()]);
            let loaded = loader.plan().and_then(|plan| loader.execute_unpinned(&plan, self.kernel));
            match loaded {
                _ if self.kernel.is_interrupted() => break,
                Ok(loaded) => self.report_accepted(name, &loaded)?,
                Err(e) => {
                    self.budget.record_refused(program);
                    self.report_refusal(Some(name), &e)?;
                }
            }
            self.console.out.flush()?;
        }
        Ok(())
    }

    fn report_accepted(&mut self, name: &str, loaded: &Loaded) -> io::Result<()> {
        let Some(program) = loaded.program(name) else {
            let what = format!("`{name}` is not among the loaded programs, expected the selected program");
            self.budget.record_incomplete(what.clone());
            let bad = BadInput::new(&*self.file.name, what).for_program(name);
            return self.console.report_load_error(&self.file.name, &bad);
        };
        let stats = self.args.stats.needs_stats().then(|| ProgramStats::from(program.verifier_stats()));
        if let Some(stats) = &stats {
            let program =
                LoadedProgram { kernel: &running_release(), object: &self.file.name, program: name };
            self.budget.record(program, stats);
        }
        // The log of statistics alone is no log that the user asked for.
        let wants_log = self.args.loading.verifier_log > 1;
        if self.console.format == Format::Json {
            let line = json::accepted(&self.file.name, program, stats, wants_log);
            return self.console.out.json(&line.with_btf_refusal(loaded));
        }
        let line = Line::new().styled(GOOD, "ok").text(format_args!("       {}: ", self.file.name));
        let line = line.styled(BOLD, name);
        self.console.out.line(match &stats {
            Some(stats) => line.text(": ").text(stats),
            None => line,
        })?;
        print_btf_refusal(&mut self.console.out, loaded)?;
        if wants_log { print_log(&mut self.console.out, &program.log) } else { Ok(()) }
    }

    /// Reports a plan error. An unknown name in the arguments is bad input, not a refusal.
    fn report_plan_error(&mut self, e: &LoadError) -> io::Result<()> {
        match unknown_name(&self.file.name, e) {
            Some(bad) => self.console.report_load_error(&self.file.name, &bad),
            None => self.report_refusal(None, e),
        }
    }

    pub(super) fn report_refusal(&mut self, program: Option<&str>, e: &LoadError) -> io::Result<()> {
        let lacks_facts = self.args.dry_run && lacks_only_facts(e);
        // An adaptive load has the verdict on the choice.
        let of_object = self.verdict.map(|verdict| verdict.verdict);
        let of_choice = self.report.as_ref().and_then(|report| report.verdict);
        let word = match lacks_facts {
            true => of_object.max(of_choice).max(Some(Verdict::Unknown)).unwrap_or(Verdict::Unknown),
            false => Verdict::Refused,
        };
        self.console.raise_exit(exit_status(word, false));
        // A plan knows more than a verdict, such as the pins of the running kernel.
        let by_plan = (word == Verdict::Refused
            && matches!(of_object, Some(Verdict::Loads | Verdict::Unknown)))
        .then(|| ObjectVerdict::refused(self.object, LoaderKind::CoreRelo, &load_message(e)));
        let verdict = by_plan.as_ref().or(self.verdict);
        if self.console.format == Format::Json {
            let wants_log = self.args.loading.verifier_log > 0;
            let stats = refused_stats(e).filter(|_| self.args.stats.needs_stats());
            let line = json::refused(&self.file.name, program, e, wants_log, stats);
            let line = if lacks_facts { line.into_not_planned() } else { line };
            let line = self.with_report(line.with_verdict(verdict));
            return self.console.out.json(&line);
        }
        let mut name = match lacks_facts {
            true => Line::new().styled(BOLD, &self.file.name).text(": no load plan: "),
            false => Line::new().styled(ERROR, "refused").text(format_args!("  {}: ", self.file.name)),
        };
        if let Some(program) = program {
            name = name.styled(BOLD, program).text(": ");
        }
        print_load_refusal(&mut self.console.out, name, e)?;
        if self.args.dry_run {
            self.print_verdict(verdict)?;
        }
        self.print_report()?;
        match e.verifier_log() {
            Some(log) if self.args.loading.verifier_log > 0 => print_log(&mut self.console.out, log),
            _ => Ok(()),
        }
    }

    pub(super) fn report_plan(&mut self, plan: &LoadPlan) -> io::Result<()> {
        if self.console.format == Format::Json {
            return self.console.out.json(&json::planned(&self.file.name, plan, self.verdict));
        }
        let title = Line::new().styled(BOLD, &self.file.name).text(": load plan");
        self.console.out.line(title)?;
        let text = plan.to_string();
        text.lines().try_for_each(|line| self.console.out.line(Line::new().text("  ").formatted(line)))?;
        self.print_verdict(self.verdict)
    }

    /// Prints the verdict of a dry run, with the reasons of each program.
    fn print_verdict(&mut self, verdict: Option<&ObjectVerdict>) -> io::Result<()> {
        let Some(verdict) = verdict else { return Ok(()) };
        let (word, style) = (describe::verdict(verdict.verdict), verdict_style(verdict.verdict));
        self.console.out.line(Line::new().styled(BOLD, "  verdict: ").styled(style, word))?;
        reason_lines(verdict, None, None)
            .iter()
            .try_for_each(|line| self.console.out.line(Line::new().text("    ").line(line)))
    }

    /// Reports the object. Returns the object if it stays loaded after the command. If the report cannot be
    /// printed, dropping the object undoes the load, and names the pins that stay.
    pub(super) fn finish(
        mut self,
        plan: &LoadPlan,
        mut object: LoadedObject,
    ) -> io::Result<Option<LoadedObject>> {
        self.report_loaded(plan, &object)?;
        if self.args.pin.is_some() {
            object.close();
            return Ok(Some(object));
        }
        Ok(self.args.attaches().then_some(object))
    }

    fn report_loaded(&mut self, plan: &LoadPlan, object: &LoadedObject) -> io::Result<()> {
        if self.console.format == Format::Json {
            let unattached = self.unattached(&object.loaded);
            let line = json::loaded(&self.file.name, &object.loaded, &object.links, &unattached);
            let line = self.with_report(line.with_repairs(plan));
            self.console.out.json(&line)?;
        } else {
            self.print_loaded(plan, object)?;
            self.print_report()?;
        }
        self.console.out.flush()
    }

    /// Returns the programs that `--attach` and `--attach-to` do not attach, and why.
    pub(super) fn unattached(&self, loaded: &Loaded) -> Vec<(String, String)> {
        let left_out =
            self.args.attach_to.iter().filter(|request| loaded.program(&request.program).is_none());
        let left_out = left_out.map(|AttachRequest { program, point }| {
            (program.clone(), format!("{point}: it is not among the chosen variants"))
        });
        if !self.args.attach {
            return left_out.collect();
        }
        let reason = |error: AttachError| match error {
            AttachError::NoAutoAttach { .. } => NO_TARGET.to_owned(),
            error => error.to_string(),
        };
        let is_attached = |name: &str| self.args.attach_to.iter().any(|request| request.program == name);
        let unattached = loaded.unattached().into_iter().filter(|(program, _)| !is_attached(program.name()));
        left_out
            .chain(unattached.map(|(program, error)| (program.name().to_owned(), reason(error))))
            .collect()
    }

    pub(super) fn report_attach_failure(&mut self, stage: &'static str, e: &AttachError) -> io::Result<()> {
        self.console.raise_exit(ExitStatus::Incompatible);
        if self.console.format == Format::Json {
            let line = self.with_report(json::attach_failed(&self.file.name, stage, e));
            self.console.out.json(&line)?;
        } else {
            let line = Line::new().styled(ERROR, "refused");
            self.console.out.line(line.text(format_args!("  {}: {e}", self.file.name)))?;
            self.print_report()?;
        }
        Ok(())
    }

    pub(super) fn print_loaded(&mut self, plan: &LoadPlan, object: &LoadedObject) -> io::Result<()> {
        let loaded = &object.loaded;
        let unattached = self.unattached(loaded);
        let (out, report) = (&mut self.console.out, &self.report);
        out.line(Line::new().styled(GOOD, "loaded").text("   ").styled(BOLD, &self.file.name))?;
        print_btf_refusal(out, loaded)?;
        for map in loaded.maps() {
            let kind = map.plan.known_type().map_or("?".into(), |t| t.short_name());
            let line = Line::new().text("  map      ").column(24, map.name()).text(" ").column(16, kind);
            match map.fd() {
                Some(fd) => {
                    out.line(line.text(" ").text(id_text(MapInfo::query(&fd).map(|info| info.id))))?
                }
                None => out.line(line.text(" not created"))?,
            }
        }
        for program in loaded.programs() {
            let kind = program.plan.program_type().short_name();
            let id = id_text(ProgramInfo::query(program).map(|info| info.id));
            let insns = program.plan.insns().len() / 8;
            let line = Line::new().text("  program  ").column(24, program.name()).text(" ").column(16, kind);
            out.line(line.text(format_args!(" {id}, {insns} instructions")))?;
            print_log(out, &program.log)?;
        }
        for skipped in plan.skipped() {
            let name = &skipped.program;
            let chosen = report.as_ref().and_then(|report| report.why_not_loaded(name));
            let why = chosen.as_deref().unwrap_or(skipped.reason);
            let line = Line::new().text("  program  ").column(24, name).text(" ");
            out.line(line.styled(DIM, format_args!("not loaded: {why}")))?;
        }
        for (name, why) in unattached {
            let line = Line::new().text("  program  ").column(24, name).text(" ");
            out.line(line.styled(DIM, format_args!("not attached: {why}")))?;
        }
        print_links(out, object)
    }
}

/// Returns the verifier's statistics up to the refusal of a program.
fn refused_stats(e: &LoadError) -> Option<ProgramStats> {
    match e {
        LoadError::Program { refused, .. } => Some(refused.verifier_stats().into()),
        _ => None,
    }
}

/// Returns the text of a kernel object's id, or of the error of reading the id.
fn id_text(id: Result<u32, InfoError>) -> String {
    id.map_or_else(|e| format!("id unknown: {}", e.errno()), |id| format!("id {id}"))
}
