//! `demo`: `check` and `explain` on an object and kernels that come with this program.
//!
//! docs/demo.md says what they are and how they were made.

use super::{check, each_of_plans, explain};
use crate::{
    app::{App, Exit},
    args::Format,
    input::{
        object::ObjectFile,
        target::{Place, Selection},
    },
    line::Line,
    render::style::{BOLD, DIM},
};
use std::io;

const OBJECT: (&str, &[u8]) = ("exec.bpf.o", include_bytes!("../../demo/exec.bpf.o"));

/// The types of real kernels that the object asks about, and no others.
const KERNELS: [(&str, &[u8]); 4] = [
    ("linux-5.10", include_bytes!("../../demo/linux-5.10.btf")),
    ("linux-6.1", include_bytes!("../../demo/linux-6.1.btf")),
    ("linux-6.12", include_bytes!("../../demo/linux-6.12.btf")),
    ("linux-7.2", include_bytes!("../../demo/linux-7.2.btf")),
];

pub(crate) fn run(app: &mut App<'_>) -> io::Result<()> {
    let file = ObjectFile::embedded(OBJECT.0, OBJECT.1);
    let kernels = KERNELS.map(|(name, bytes)| Place::Embedded { name, bytes });
    say(app, "An object for process monitoring, against four kernels and the one running here:")?;
    say(app, "")?;
    command(app, "check exec.bpf.o --btf linux-5.10 --btf linux-6.1 --btf linux-6.12 --btf linux-7.2")?;
    check::check(
        app,
        std::slice::from_ref(&file),
        &Selection { places: kernels.to_vec(), ..Selection::default() },
    )?;
    say(app, "")?;
    command(app, "check exec.bpf.o")?;
    check::check(
        app,
        std::slice::from_ref(&file),
        &Selection { places: vec![Place::Running], ..Selection::default() },
    )?;
    say(app, "")?;
    say(app, "Why it does not fit the oldest and the newest:")?;
    say(app, "")?;
    for kernel in kernels {
        let unresolved = Selection { places: vec![kernel], ..Selection::default() };
        each_of_plans(app, &file, &unresolved, |app, file, kernel, plan| {
            let shown: Vec<_> = plan.iter().filter(explain::is_unresolved).collect();
            if shown.is_empty() {
                return Ok(());
            }
            command(app, &format!("explain exec.bpf.o --btf {}", kernel.name))?;
            explain::write(app, file, kernel, plan, &shown)
        })?;
    }
    say(app, "Now yours: core-relo check YOUR.bpf.o [--btf FOLDER_OF_KERNELS]")?;
    // What it showed is what it was to show; a machine without kernel BTF is no failure either.
    app.exit = Exit::Resolved;
    Ok(())
}

fn say(app: &mut App<'_>, text: &str) -> io::Result<()> {
    if app.format == Format::Text { app.out.line(text) } else { Ok(()) }
}

fn command(app: &mut App<'_>, line: &str) -> io::Result<()> {
    if app.format == Format::Text {
        let line = format_args!("core-relo {line}");
        app.out.line(Line::new().styled(DIM, "$").text(" ").styled(BOLD, line))?;
        // What goes wrong comes on another stream, and after this.
        app.out.flush()?;
    }
    Ok(())
}
