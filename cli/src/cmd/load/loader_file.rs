//! `load` of a loader file: the kernel executes the loader program.

use super::{
    LoadRequest,
    loaded_object::{LoadFailure, LoadedObject},
    report::{print_links, print_log, print_refusal},
};
use crate::{
    args::load::LoadArgs,
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult},
    format::Format,
    input::{loader_file, object::ObjectFile},
    json::load as json,
    text::{
        line::Line,
        style::{BOLD, DIM, ERROR, GOOD},
    },
};
use core_relo_loader::{
    inventory::{InfoError, MapInfo, ProgramInfo},
    load::{LoadError, execute_loader_program, execute_signed_loader_program},
};
use std::io;

/// The reason why `--attach` does not attach a program.
const NO_TARGET: &str = "its section names no target: name one with --attach-to";

impl LoadRequest<'_, '_> {
    /// Executes a loader program. Returns the object if it stays loaded after the command.
    pub(super) fn run_loader_file(
        &self,
        console: &mut Console<'_>,
        input: &ObjectFile,
    ) -> CommandResult<Option<LoadedObject>> {
        refuse_options(self.args, input)?;
        let file = loader_file::parse(input)?;
        let loaded = match self.args.keyring {
            Some(keyring) => execute_signed_loader_program(&file, keyring),
            None => {
                if file.signatures().is_some() {
                    console.note(&format!(
                        "{}: without --keyring, the kernel does not check its signature",
                        input.name
                    ))?;
                }
                execute_loader_program(&file)
            }
        };
        let loaded = loaded.map_err(LoadFailure::Load);
        let object = match loaded.and_then(|loaded| self.attach_and_pin(LoadedObject::new(loaded))) {
            Ok(object) => object,
            Err(_) if self.kernel.is_interrupted() => return Ok(None),
            Err(LoadFailure::Load(e)) => {
                self.report_loader_refusal(console, input, &e)?;
                return Ok(None);
            }
            Err(LoadFailure::Attach { stage, cause }) => {
                console.raise_exit(ExitStatus::Incompatible);
                if console.format == Format::Json {
                    console.out.json(&json::attach_failed(&input.name, stage, &cause))?;
                } else {
                    let line = Line::new().styled(ERROR, "refused");
                    console.out.line(line.text(format_args!("  {}: {cause}", input.name)))?;
                }
                return Ok(None);
            }
            Err(LoadFailure::Events(bad)) => return Err(bad.into()),
            Err(LoadFailure::Interrupted) => return Ok(None),
        };
        Ok(self.report_loaded_file(console, input, object)?)
    }

    fn attach_and_pin(&self, mut object: LoadedObject) -> Result<LoadedObject, LoadFailure> {
        if self.args.attach {
            object.attach(self.kernel)?;
        }
        object.attach_to(self.kernel, &self.args.attach_to)?;
        if let Some(dir) = self.pin_dir {
            object.pin(self.kernel, dir)?;
        }
        Ok(object)
    }

    fn report_loader_refusal(
        &self,
        console: &mut Console<'_>,
        input: &ObjectFile,
        e: &LoadError,
    ) -> io::Result<()> {
        console.raise_exit(ExitStatus::Incompatible);
        let wants_log = self.args.loading.verifier_log > 0;
        if console.format == Format::Json {
            return console.out.json(&json::refused(&input.name, None, e, wants_log, None));
        }
        let name = Line::new().styled(ERROR, "refused").text(format_args!("  {}: ", input.name));
        print_refusal(&mut console.out, name, e)?;
        match e.verifier_log() {
            Some(log) if wants_log => print_log(&mut console.out, log),
            _ => Ok(()),
        }
    }

    fn report_loaded_file(
        &self,
        console: &mut Console<'_>,
        input: &ObjectFile,
        mut object: LoadedObject,
    ) -> io::Result<Option<LoadedObject>> {
        let unattached = self.unattached(&object);
        let (loaded, links) = (&object.loaded, &object.links);
        if console.format == Format::Json {
            console.out.json(&json::loaded(&input.name, loaded, links, &unattached))?;
        } else {
            let out = &mut console.out;
            out.line(Line::new().styled(GOOD, "loaded").text("   ").styled(BOLD, &input.name))?;
            for map in loaded.maps() {
                let kind = map.plan.known_type().map_or("?".into(), |t| t.short_name());
                let id = map.fd().map(|fd| MapInfo::query(&fd).map(|info| info.id));
                let line = Line::new().text("  map      ").column(24, map.name()).text(" ").column(16, kind);
                out.line(line.text(" ").text(id_text(id)))?;
            }
            for program in loaded.programs() {
                let kind = program.plan.program_type().short_name();
                let id = id_text(Some(ProgramInfo::query(program).map(|info| info.id)));
                let line =
                    Line::new().text("  program  ").column(24, program.name()).text(" ").column(16, kind);
                out.line(line.text(" ").text(id))?;
            }
            for (name, why) in &unattached {
                let line = Line::new().text("  program  ").column(24, name).text(" ");
                out.line(line.styled(DIM, format_args!("not attached: {why}")))?;
            }
            print_links(out, &object)?;
        }
        console.out.flush()?;
        if self.args.pin.is_some() {
            object.close();
            return Ok(Some(object));
        }
        Ok(self.args.attaches().then_some(object))
    }

    /// Returns the programs that `--attach` does not attach, and why.
    fn unattached(&self, object: &LoadedObject) -> Vec<(String, String)> {
        if !self.args.attach {
            return Vec::new();
        }
        let is_attached = |name: &str| self.args.attach_to.iter().any(|request| request.program == name);
        let unattached = object.loaded.unattached().into_iter();
        let unattached = unattached.filter(|(program, _)| !is_attached(program.name()));
        unattached.map(|(program, _)| (program.name().to_owned(), NO_TARGET.to_owned())).collect()
    }
}

/// Returns the text of a kernel object's id.
fn id_text(id: Option<Result<u32, InfoError>>) -> String {
    match id {
        Some(Ok(id)) => format!("id {id}"),
        Some(Err(e)) => format!("id unknown: {}", e.errno()),
        None => "not created".to_owned(),
    }
}

/// Returns an error for the first option that has no effect on a loader file, whose plan is made already.
fn refuse_options(args: &LoadArgs, input: &ObjectFile) -> Result<(), BadInput> {
    /// The remedy for options that `gen loader` has.
    const GENERATE: &str = "give the option to `core-relo gen loader`, or load the object itself";
    const LOAD: &str = "load the object itself";
    let setup = &args.setup;
    let settings = setup.settings.settings().next().map(|setting| (setting.value.option(), true, GENERATE));
    let refused = [
        ("--program", !args.program.is_empty(), GENERATE),
        ("--kconfig", setup.kconfig.is_some(), GENERATE),
        ("--each", args.each, LOAD),
        ("--adaptive", args.adaptive, LOAD),
        ("--dry-run", args.dry_run, LOAD),
        ("--relocate-against", args.relocate_against.is_some(), LOAD),
        ("--print", !args.events.print.is_empty(), LOAD),
        ("--zero-extend-enums", args.relocation.zero_extend_enums, LOAD),
        ("--reuse-map", !args.loading.reuse_map.is_empty(), LOAD),
        ("--token", args.loading.token.is_some(), LOAD),
        ("--stats", args.stats.needs_stats(), LOAD),
        // All requests of a loader program write to the same log.
        (
            "--verifier-log, twice",
            args.loading.verifier_log > 1,
            "give it once, for the log of a refused program",
        ),
    ];
    match settings.into_iter().chain(refused).find(|(_, is_given, _)| *is_given) {
        Some((option, _, help)) => {
            let what = format_args!("has no effect on the loader file {}", input.name);
            Err(BadInput::new(option, what).help(help))
        }
        None => Ok(()),
    }
}
