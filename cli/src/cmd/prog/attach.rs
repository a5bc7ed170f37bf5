//! `prog attach` and `prog detach`: programs in the kernel, attached and detached by attach point.

use crate::{
    args::{
        object_selector::ProgramSelector,
        prog_attach::{ProgAttachArgs, ProgDetachArgs},
    },
    attach_point::{self, explain_lasting},
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    kernel_objects::{
        error::{object_name, unreadable_info},
        select::{select_one, selection_from_word},
    },
    text::{line::Line, style},
};
use core_relo_loader::{
    attach::{AttachError, ProgramRef},
    attach_point::{AttachPoint, LastingOptions, PointProgram},
    inventory::{LinkInfo, ObjectKind, ProgramInfo, full_program_name},
    object::ProgramType,
};
use serde::Serialize;
use std::{io, os::fd::AsFd as _, path::Path};

/// A program that was attached or detached, and its JSON line.
#[derive(Serialize)]
struct AttachChange {
    prog_id: u32,
    /// `attached` or `detached`.
    change: &'static str,
    /// The attach point, as the user wrote it.
    attach_point: String,
    /// The id of the new link.
    link_id: Option<u32>,
    pin: Option<String>,
    #[serde(skip)]
    name: String,
}

impl AttachChange {
    fn write(&self, console: &mut Console<'_>, format: Format) -> io::Result<()> {
        let line = Line::new().styled(style::GOOD, self.change);
        let program = object_name(ObjectKind::Program, self.prog_id, &self.name);
        let mut line = line.text(format_args!(": {program}: {}", self.attach_point));
        if let (Some(link), Some(pin)) = (self.link_id, &self.pin) {
            line = line.text(format_args!(": link {link}, pinned at {pin}"));
        }
        console.report_change(format, self, &line)
    }
}

pub(super) fn attach(console: &mut Console<'_>, args: &ProgAttachArgs) -> CommandResult {
    let ProgAttachArgs { selector, to: point, pin, replace, sharing, format } = args;
    let changed = with_program(selector, point, attach_point::check_fits, |program| match pin {
        Some(path) => pin_link(program, path).map(Some),
        None => program
            .attach_without_link(LastingOptions { sharing: sharing.map(Into::into), replace: *replace })
            .map(|()| None)
            .map_err(|e| attach_point::explain_refusal(explain_lasting(e, point), program, &[])),
    });
    let (prog_id, name, link_id) = changed?;
    let pin = pin.as_deref().map(escape_path);
    let change =
        AttachChange { prog_id, change: "attached", attach_point: point.to_string(), link_id, pin, name };
    Ok(change.write(console, *format)?)
}

pub(super) fn detach(console: &mut Console<'_>, args: &ProgDetachArgs) -> CommandResult {
    let ProgDetachArgs { selector, from: point, format } = args;
    let (prog_id, name, ()) = with_program(selector, point, attach_point::check_detaches, |program| {
        program.detach().map_err(|e| explain_lasting(e, point))
    })?;
    let attach_point = point.to_string();
    let change = AttachChange { prog_id, change: "detached", attach_point, link_id: None, pin: None, name };
    Ok(change.write(console, *format)?)
}

/// Opens the selected program, checks with `fits` that it can have the attach point, and calls `change`.
/// Returns the program's id and name, and the result.
fn with_program<T>(
    selector: &ProgramSelector,
    point: &AttachPoint,
    fits: fn(&PointProgram<'_>) -> Result<(), String>,
    change: impl FnOnce(&PointProgram<'_>) -> Result<T, AttachError>,
) -> Result<(u32, String, T), BadInput> {
    let (id, fd) = select_one(ObjectKind::Program, selector)?;
    let info = ProgramInfo::query(&fd).map_err(|e| unreadable_info(ObjectKind::Program, id, e))?;
    let name = full_program_name(&fd, &info);
    let bad = |what: String| BadInput::new(object_name(ObjectKind::Program, id, &name), what);
    let number = info.prog_type;
    let program_type = ProgramType::from_number(number)
        .ok_or_else(|| bad(format!("its type is not known: {number}, expected 1 to 32")))?;
    let program = PointProgram {
        point,
        may_use_traffic_control: false,
        program: ProgramRef { name: &name, program_type, ..ProgramRef::from_fd(fd.as_fd()) },
        open_map: &|word| {
            let opened = select_one(ObjectKind::Map, &selection_from_word(word));
            opened.map(|(_, map)| map).map_err(|e| AttachError::target(e.file, e.what))
        },
    };
    fits(&program).map_err(bad)?;
    let changed = change(&program).map_err(|e| bad(e.to_string()))?;
    Ok((id, name, changed))
}

/// Attaches a program by a link, and pins the link. Returns the link's id. If the link cannot be pinned, the
/// program is detached again.
fn pin_link(program: &PointProgram<'_>, path: &Path) -> Result<u32, AttachError> {
    let point = program.point;
    let bad = |problem: &str| AttachError::target(point.to_string(), problem.to_owned());
    if point.has_several_links() {
        return Err(bad("these are several links, expected one for the pin: name one processor"));
    }
    let attached = program.attach_by_link();
    let mut links = attached.map_err(|e| attach_point::explain_refusal(e, program, &[]))?;
    let mut link = links.pop().ok_or_else(|| bad("no link was made, expected one"))?;
    // The id is read first: after an error, no pin remains.
    let id = match link.fd() {
        Some(fd) => Some(
            LinkInfo::query(&fd).map_err(|e| bad(&format!("the link cannot be read: {}", e.errno())))?.id,
        ),
        None => None,
    };
    link.pin(path)?;
    link.leak();
    id.ok_or_else(|| bad("the pinned link has no id"))
}
