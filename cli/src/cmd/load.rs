//! `load`: objects into the running kernel, or what that would ask of it.

use super::{
    kept::{Failure, Kept},
    load_json,
};
use crate::{
    app::{App, Exit},
    args::Format,
    args_load::{Assignment, Load, Setup},
    cmd::inspect::short,
    error::{BadInput, shown},
    input::{
        file,
        file::Limits,
        global,
        object::ObjectFile,
        target::{Kernel, Place},
    },
    interrupt::Interruptible,
    line::Line,
    printer::Printer,
    render::style::{BOLD, DIM, ERROR, GOOD},
    signals::EndRequests,
};
use core_relo_loader::{
    Loader,
    attach::{AttachError, Link},
    load::{LoadError, Loaded, PIN_ATTEMPTS},
    load_plan::{Host, LoadPlan, LoadPlanError, TokenSource},
    object::Object,
    sys,
    target::KernelTypes,
};
use std::{io, path::Path, sync::Arc};

pub(crate) fn run(app: &mut App<'_>, args: &Load) -> io::Result<()> {
    if args.dry_run {
        // It does nothing that would have to be undone.
        return load_all(app, args, &Interruptible::new(&mut || false)).map(drop);
    }
    let mut end_requests = EndRequests::catch()?;
    let kept = load_all(app, args, &Interruptible::new(&mut || end_requests.arrived()))?;
    let Some(kept) = kept else { return interrupted(app, end_requests) };
    if args.pin.is_some() {
        kept.into_iter().for_each(Kept::leave);
    } else if args.attach && !kept.is_empty() {
        app.out.flush()?;
        if kept.iter().any(|kept| !kept.links.is_empty()) {
            app.note("attached; Ctrl-C detaches")?;
            end_requests.wait();
        } else {
            app.note("nothing was attached")?;
        }
        for e in kept.into_iter().flat_map(Kept::detach) {
            app.complain(&BadInput::new("detaching", e))?;
        }
    }
    Ok(())
}

/// Says that a signal ended the command, which has undone everything, and ends the process by that signal.
pub(super) fn interrupted(app: &mut App<'_>, end_requests: EndRequests) -> io::Result<()> {
    let noted = app.out.flush().and_then(|()| app.note("ended by a signal; what was begun is undone"));
    end_requests.release().and(noted)
}

/// Loads the objects; returns those that stay loaded, or none if a signal interrupted the command, after everything was undone.
pub(super) fn load_all(
    app: &mut App<'_>,
    args: &Load,
    kernel: &Interruptible<'_>,
) -> io::Result<Option<Vec<Kept>>> {
    let host = match host(args) {
        Ok(host) => host,
        Err(bad) => return app.fail(&bad).map(|()| Some(Vec::new())),
    };
    let mut kept = Vec::new();
    for path in &args.objects {
        if kernel.look() {
            break;
        }
        let file = match ObjectFile::read(path) {
            Ok(file) => file,
            Err(bad) => {
                app.fail(&bad)?;
                continue;
            }
        };
        let object = match file.parse() {
            Ok(object) => object,
            Err(bad) => {
                app.fail(&bad)?;
                continue;
            }
        };
        let mut loader = Loader::with_host(&object, host.clone()).name(stem(path));
        if let Err(bad) = set_up(&mut loader, &file, &args.setup) {
            app.fail(&bad)?;
            continue;
        }
        if !args.program.is_empty() {
            loader.select_programs(args.program.iter().map(String::as_str));
        }
        let one = One { app, args, file: &file, object: &object, kernel };
        kept.extend(one.run(&loader)?);
    }
    Ok(Some(kept).filter(|_| !kernel.is_interrupted()))
}

/// The object's name for the kernel: the file's up to its first dot, as libbpf takes it.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Prints why an object is not loaded, after `name`: the library begins with the object's name where the command names the file.
///
/// The library escapes what it puts into its lines.
pub(super) fn print_refusal(out: &mut Printer<'_>, name: Line, e: &LoadError, path: &Path) -> io::Result<()> {
    let text = e.to_string();
    let own = format!("{}: ", stem(path));
    let mut lines = text.strip_prefix(&own).unwrap_or(&text).lines();
    out.line(name.laid_out(lines.next().unwrap_or_default()))?;
    lines.try_for_each(|line| out.line(Line::new().laid_out(line)))
}

/// Prints what the verifier wrote.
pub(super) fn print_log(out: &mut Printer<'_>, log: &str) -> io::Result<()> {
    let margin = Line::new().text("   ").styled(DIM, "|").text(" ");
    log.lines().try_for_each(|line| out.line(margin.clone().laid_out(line)))
}

/// A program or map that was named and that the object does not have.
pub(super) fn no_such(file: &str, e: &LoadError) -> Option<BadInput> {
    match e {
        LoadError::Plan { cause: cause @ LoadPlanError::NoSuch { .. }, .. } => {
            Some(BadInput::new(file, cause.to_string()))
        }
        _ => None,
    }
}

/// The kernel that is planned for.
fn host(args: &Load) -> Result<Host, BadInput> {
    if let Some(path) = &args.btf {
        return Ok(Host::offline(Arc::new(types(path)?)));
    }
    let host = core_relo_loader::running_host();
    match &args.relocate_against {
        Some(path) => Ok(host.relocated_against(Arc::new(types(path)?))),
        None => Ok(host),
    }
}

fn types(path: &Path) -> Result<KernelTypes, BadInput> {
    let place = Place::File { path: path.to_path_buf(), base: None };
    let kernel = Kernel::open(&place, &[], Limits::default())?;
    Ok(KernelTypes::from_btf(Arc::clone(&kernel.target.main().btf), []))
}

/// What was set on the command line.
pub(super) fn set_up(loader: &mut Loader<'_, '_>, file: &ObjectFile, setup: &Setup) -> Result<(), BadInput> {
    let bad = |what: String| BadInput::new(&*file.name, what);
    for Assignment { name, value } in &setup.set {
        let found = loader.find_global(name).map_err(|e| bad(e.to_string()))?;
        // What may not be set is said before what it was to be set to.
        let bytes = match found.kind.is_set_before() {
            true => global::bytes(loader.object(), &found, value)
                .map_err(|e| bad(format!("global `{name}`: {e}")))?,
            false => vec![0; found.size],
        };
        loader.set_global_bytes(name, &bytes).map_err(|e| bad(e.to_string()))?;
    }
    for Assignment { name, value } in &setup.max_entries {
        let n = value
            .parse()
            .map_err(|_no_number| bad(format!("map `{name}`: `{value}` is no number of entries")))?;
        loader.map(name).max_entries = Some(n);
    }
    for name in &setup.without_map {
        loader.map(name).autocreate = Some(false);
    }
    if let Some(path) = &setup.kconfig {
        let bytes = file::read(path, file::OBJECT_BYTES)?;
        loader.settings().kconfig = Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    if let Some(path) = &setup.token {
        loader.settings().token = TokenSource::Path(path.clone());
    }
    if setup.verifier_log > 1 {
        loader.settings().log_level = 1;
    }
    Ok(())
}

/// One object on its way.
struct One<'a, 'w, 'd, 's> {
    app: &'a mut App<'w>,
    args: &'a Load,
    file: &'a ObjectFile,
    object: &'a Object<'d>,
    kernel: &'a Interruptible<'s>,
}

impl One<'_, '_, '_, '_> {
    fn run(mut self, loader: &Loader<'_, '_>) -> io::Result<Option<Kept>> {
        if self.args.each {
            return self.each(loader).map(|()| None);
        }
        let plan = match loader.plan() {
            Ok(plan) => plan,
            Err(e) => return self.not_planned(&e).map(|()| None),
        };
        if self.args.dry_run {
            return self.planned(&plan).map(|()| None);
        }
        match self.load(loader, &plan) {
            Ok(kept) => self.loaded(&plan, kept),
            Err(_) if self.kernel.is_interrupted() => Ok(None),
            Err(Failure::Load(e)) => self.refused(None, &e).map(|()| None),
            Err(Failure::Attach { stage, cause }) => self.failed(&plan.name, stage, &cause).map(|()| None),
            Err(Failure::Interrupted) => Ok(None),
        }
    }

    /// Loads, attaches and pins the object; again, if another process pins one of its maps meanwhile.
    fn load(&self, loader: &Loader<'_, '_>, plan: &LoadPlan) -> Result<Kept, Failure> {
        let mut attempt = 1;
        loop {
            match self.attempt(loader, plan) {
                Err(Failure::Load(LoadError::PinTaken { .. })) if attempt < PIN_ATTEMPTS => {
                    attempt = attempt.saturating_add(1);
                }
                Err(Failure::Load(LoadError::PinTaken { object, map, path, .. })) => {
                    return Err(LoadError::PinTaken { object, map, path, attempts: attempt }.into());
                }
                done => return done,
            }
        }
    }

    fn attempt(&self, loader: &Loader<'_, '_>, plan: &LoadPlan) -> Result<Kept, Failure> {
        let mut kept = Kept::new(loader.load_unpinned(plan, self.kernel)?);
        if self.args.attach {
            kept.attach(self.kernel)?;
        }
        if let Some(folder) = &self.args.pin {
            kept.pin(self.kernel, folder)?;
        }
        Ok(kept)
    }

    fn each(&mut self, loader: &Loader<'_, '_>) -> io::Result<()> {
        let programs = self.object.programs().iter().filter(|p| !p.is_subprogram);
        let names: Vec<_> = programs.map(|p| String::from_utf8_lossy(p.name).into_owned()).collect();
        if names.is_empty() {
            return self.app.note(&format!("{}: it has no programs", self.file.name));
        }
        if let Some(unknown) = self.args.program.iter().find(|p| !names.contains(p)) {
            let bad = BadInput::new(&*self.file.name, format!("it has no program `{unknown}`"));
            return self.app.fail(&bad.help(format!("it has {}", names.join(", "))));
        }
        for name in names.iter().filter(|n| self.args.program.is_empty() || self.args.program.contains(n)) {
            let mut loader = loader.clone();
            loader.select_programs([name.as_str()]);
            let loaded = loader.plan().and_then(|plan| loader.load_unpinned(&plan, self.kernel));
            match loaded {
                _ if self.kernel.is_interrupted() => break,
                Ok(loaded) => self.accepted(name, &loaded)?,
                Err(e) => self.refused(Some(name), &e)?,
            }
            self.app.out.flush()?;
        }
        Ok(())
    }

    fn accepted(&mut self, name: &str, loaded: &Loaded) -> io::Result<()> {
        let Some(program) = loaded.program(name) else { return Ok(()) };
        if self.app.format == Format::Json {
            return self.app.out.json(&load_json::each(&self.file.name, program));
        }
        let line = Line::new().styled(GOOD, "ok").text(format_args!("       {}: ", self.file.name));
        self.app.out.line(line.styled(BOLD, name))?;
        print_log(&mut self.app.out, &program.log)
    }

    /// What was typed wrong is no refusal.
    fn not_planned(&mut self, e: &LoadError) -> io::Result<()> {
        match no_such(&self.file.name, e) {
            Some(bad) => self.app.fail(&bad),
            None => self.refused(None, e),
        }
    }

    fn refused(&mut self, program: Option<&str>, e: &LoadError) -> io::Result<()> {
        self.app.end_with(Exit::Unresolved);
        if self.app.format == Format::Json {
            let wants_log = self.args.setup.verifier_log > 0;
            return self.app.out.json(&load_json::refused(&self.file.name, program, e, wants_log));
        }
        let mut name = Line::new().styled(ERROR, "refused").text(format_args!("  {}: ", self.file.name));
        if let Some(program) = program {
            name = name.styled(BOLD, program).text(": ");
        }
        print_refusal(&mut self.app.out, name, e, Path::new(&self.file.name))?;
        match e.verifier_log() {
            Some(log) if self.args.setup.verifier_log > 0 => print_log(&mut self.app.out, log),
            _ => Ok(()),
        }
    }

    fn planned(&mut self, plan: &LoadPlan) -> io::Result<()> {
        if self.app.format == Format::Json {
            return self.app.out.json(&load_json::planned(&self.file.name, plan));
        }
        let title = Line::new().styled(BOLD, &self.file.name).text(": would be asked of the kernel");
        self.app.out.line(title)?;
        let text = plan.to_string();
        text.lines().try_for_each(|line| self.app.out.line(Line::new().text("  ").laid_out(line)))
    }

    /// Reports the object. If that fails, nobody knows of what was made, and dropping it undoes it.
    fn loaded(mut self, plan: &LoadPlan, mut kept: Kept) -> io::Result<Option<Kept>> {
        self.tell(plan, &kept.loaded, &kept.links)?;
        if self.args.pin.is_some() {
            kept.close();
            return Ok(Some(kept));
        }
        Ok(self.args.attach.then_some(kept))
    }

    fn tell(&mut self, plan: &LoadPlan, loaded: &Loaded, links: &[Link]) -> io::Result<()> {
        if self.app.format == Format::Json {
            let left = self.left(loaded);
            self.app.out.json(&load_json::loaded(&self.file.name, loaded, links, &left))?;
        } else {
            self.report(plan, loaded, links)?;
        }
        self.app.out.flush()
    }

    /// The programs that were to be attached and were not, and why.
    fn left(&self, loaded: &Loaded) -> Vec<(String, String)> {
        if !self.args.attach {
            return Vec::new();
        }
        let left = loaded.left_unattached();
        let why = |why: AttachError| {
            match why {
            AttachError::NotAutomatic { .. } => {
                "its section does not say to what; pin it (--pin) and attach it by what sets up the interface, cgroup or socket".into()
            }
            other => other.to_string(),
        }
        };
        left.into_iter().map(|(program, error)| (program.name().to_owned(), why(error))).collect()
    }

    fn failed(&mut self, name: &str, stage: &'static str, e: &AttachError) -> io::Result<()> {
        self.app.end_with(Exit::Unresolved);
        if self.app.format == Format::Json {
            self.app.out.json(&load_json::failed(&self.file.name, name, stage, e))?;
        } else {
            let line = Line::new().styled(ERROR, "refused");
            self.app.out.line(line.text(format_args!("  {}: {e}", self.file.name)))?;
        }
        Ok(())
    }

    fn report(&mut self, plan: &LoadPlan, loaded: &Loaded, links: &[Link]) -> io::Result<()> {
        let left = self.left(loaded);
        let out = &mut self.app.out;
        out.line(Line::new().styled(GOOD, "loaded").text("   ").styled(BOLD, &self.file.name))?;
        for map in loaded.maps() {
            let kind = map.plan.known_type().map_or("?".into(), |t| short(t.name()));
            let id = map.fd().and_then(|fd| sys::map_info(&fd).ok()).map_or(0, |i| i.id);
            let line = Line::new().text("  map      ").column(24, map.name()).text(" ").column(16, kind);
            match map.fd() {
                Some(_) => out.line(line.text(format_args!(" id {id}")))?,
                None => out.line(line.text(" not created"))?,
            }
        }
        for program in loaded.programs() {
            let kind = short(program.plan.program_type.name());
            let info = sys::prog_info(program).unwrap_or_default();
            let insns = program.plan.insns.len() / 8;
            let line = Line::new().text("  program  ").column(24, program.name()).text(" ").column(16, kind);
            out.line(line.text(format_args!(" id {}, {insns} instructions", info.id)))?;
            print_log(out, &program.log)?;
        }
        for (name, why) in &plan.skipped {
            let line = Line::new().text("  program  ").column(24, name).text(" ");
            out.line(line.styled(DIM, format_args!("not loaded: {why}")))?;
        }
        for (name, why) in left {
            let line = Line::new().text("  program  ").column(24, name).text(" ");
            out.line(line.styled(DIM, format_args!("not attached: {why}")))?;
        }
        for link in links {
            let what = link.what();
            match link.pin_path() {
                Some(path) => out.line(format_args!("  link     {what}, pinned at {}", shown(path)))?,
                None => out.line(format_args!("  link     {what}"))?,
            }
        }
        Ok(())
    }
}
