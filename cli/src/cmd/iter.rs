//! `iter pin` and `iter read`: iterators, programs whose output is read from a file.

use super::{load::setup::set_kconfig, object_refusal::ObjectRefusal};
use crate::{
    args::kernel_services::{IterCommand, IterPinArgs, IterReadArgs},
    cmd::object_change::ObjectChange,
    console::Console,
    error::{BadInput, CommandResult},
    input::object::{ObjectFile, object_name},
    kernel_objects::{
        error::{hint, object_name as kernel_object_name},
        select::{select_one, selection_from_word},
    },
    text::line::Line,
};
use core_relo_loader::{
    Errno, Loader,
    attach::{IterOptions, IterReader, IterTarget, Link},
    inventory::{InfoError, LinkInfo, ObjectKind},
    load::RunningKernel,
    load_plan::LoadPlan,
    object::{AttachType, ProgramType},
};
use std::{
    io::{self, BufRead as _, BufReader, Read as _},
    os::fd::AsFd as _,
};

/// `BPF_LINK_TYPE_ITER`.
const ITER_LINK: u32 = 4;

/// The bound on the length of a line that is printed at once, in bytes.
const LINE_BYTES: u64 = 1 << 16;

pub(crate) fn run(console: &mut Console<'_>, command: &IterCommand) -> CommandResult {
    match command {
        IterCommand::Pin(args) => pin(console, args),
        IterCommand::Read(args) => read(console, args),
    }
}

fn pin(console: &mut Console<'_>, args: &IterPinArgs) -> CommandResult {
    let file = ObjectFile::read(&args.object)?;
    match pin_iterator(&file, args) {
        Ok(change) => Ok(change.write(console, args.format)?),
        Err(e) => Ok(e.report(console, &file.name)?),
    }
}

fn pin_iterator(file: &ObjectFile, args: &IterPinArgs) -> Result<ObjectChange, ObjectRefusal> {
    let map = args.map.as_ref().map(|word| select_one(ObjectKind::Map, &selection_from_word(word)));
    let map = map.transpose()?.map(|(_, map)| map);
    let object = file.parse()?;
    let mut loader = Loader::new(&object).name(object_name(&args.object));
    set_kconfig(&mut loader, args.kconfig.as_deref())?;
    let name = find_iterator(&file.name, &loader.plan()?, args.program.as_deref())?;
    loader.select_programs([name.as_str()]);
    let plan = loader.plan()?;
    let mut loaded = loader.execute_unpinned(&plan, &RunningKernel)?;
    let program = loaded.program_ref(&name)?.unnamed();
    let target = map.as_ref().map_or(IterTarget::All, |map| IterTarget::Map(map.as_fd()));
    let mut link = program.attach_iter(&IterOptions { target }).map_err(|e| match (&map, e.errno()) {
        (Some(_), None) => BadInput::new("--map", e).into(),
        (None, Some(errno)) if errno == Errno::EBADF => {
            BadInput::new(&*file.name, e).help("name the map with --map").into()
        }
        _ => ObjectRefusal::from(e),
    })?;
    let unreadable =
        |e: InfoError| BadInput::new(&*file.name, format_args!("the link cannot be read: {}", e.errno()));
    let id = match link.fd() {
        Some(fd) => LinkInfo::query(&fd).map_err(unreadable)?.id,
        None => return Err(BadInput::new(&*file.name, "the iterator has no link, expected one").into()),
    };
    loaded.pin_maps(&RunningKernel)?;
    link.pin(&args.path).inspect_err(|_refused| loaded.unpin_maps())?;
    link.leak();
    Ok(ObjectChange::new(ObjectKind::Link, id, "pinned").pin(&args.path))
}

/// Returns the name of the only iterator in an object, or of the one with a name.
fn find_iterator(file: &str, plan: &LoadPlan, name: Option<&str>) -> Result<String, BadInput> {
    let programs = plan.programs().iter().filter(|program| {
        program.program_type() == ProgramType::Tracing
            && program.attach_type() == AttachType::TraceIter.number()
    });
    let iterators: Vec<&str> = programs.map(|program| program.name()).collect();
    match (&*iterators, name) {
        ([], _) => {
            Err(BadInput::new(file, "it has no iterator").help("its section is named iter/task, for example"))
        }
        ([only], None) => Ok((*only).to_owned()),
        (all, None) => {
            let what = format!("it has {} iterators, expected one: {}", all.len(), all.join(", "));
            Err(BadInput::new(file, what).help("select one with --program"))
        }
        (all, Some(name)) if all.contains(&name) => Ok(name.to_owned()),
        (all, Some(name)) => {
            let bad = BadInput::new(file, format_args!("it has no iterator `{name}`"));
            Err(bad.help(format!("it has {}", all.join(", "))))
        }
    }
}

fn read(console: &mut Console<'_>, args: &IterReadArgs) -> CommandResult {
    let reader = open_reader(args)?;
    match args.raw {
        true => copy_bytes(console, reader),
        false => copy_lines(console, reader),
    }
}

fn open_reader(args: &IterReadArgs) -> Result<IterReader, BadInput> {
    let (id, fd) = select_one(ObjectKind::Link, &args.selector)?;
    let name = kernel_object_name(ObjectKind::Link, id, "");
    let info = LinkInfo::query(&fd).map_err(|e| BadInput::new(&*name, e.problem()))?;
    if info.link_type != ITER_LINK {
        let bad = BadInput::new(name, "is no link of an iterator");
        return Err(bad.help("`core-relo link list` lists them, with their types"));
    }
    let link = Link::from_fd(fd, &*name);
    let reader = IterReader::new(&link).map_err(|e| {
        let bad = BadInput::new("running kernel", &e);
        e.errno().and_then(hint).map_or(bad.clone(), |help| bad.help(help))
    });
    // The link belongs to others: dropping it would be no more than closing the descriptor, but leaking it
    // says so.
    link.leak();
    reader
}

/// Returns the error of an iterator that cannot be read.
fn unreadable(e: io::Error) -> BadInput {
    BadInput::new("iterator", format_args!("its output cannot be read: {e}"))
}

fn copy_bytes(console: &mut Console<'_>, mut reader: IterReader) -> CommandResult {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let len = reader.read(&mut buffer).map_err(unreadable)?;
        let Some(bytes) = buffer.get(..len).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        console.out.unescaped(bytes)?;
    }
}

fn copy_lines(console: &mut Console<'_>, reader: IterReader) -> CommandResult {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        let len = reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line).map_err(unreadable)?;
        if len == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line));
        console.out.line(Line::new().formatted(&text))?;
    }
}
