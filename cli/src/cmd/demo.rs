//! `demo`: `check` and `explain` on an object and kernels that are part of this program.
//!
//! docs/demo.md describes them and how they were made.

use super::{check, explain};
use crate::{
    console::{Console, ExitStatus},
    error::CommandResult,
    format::Format,
    input::object::ObjectFile,
    text::{
        line::Line,
        style::{BOLD, DIM},
    },
};
use core_relo_kernels::{KernelSelection, KernelSource};
use std::io;

const OBJECT: (&str, &[u8]) = ("exec.bpf.o", include_bytes!("../../demo/exec.bpf.o"));

/// Kernels reduced to the types that the object uses.
const KERNELS: [(&str, &[u8]); 4] = [
    ("linux-5.10", include_bytes!("../../demo/linux-5.10.btf.xz")),
    ("linux-6.1", include_bytes!("../../demo/linux-6.1.btf.xz")),
    ("linux-6.12", include_bytes!("../../demo/linux-6.12.btf.xz")),
    ("linux-7.2", include_bytes!("../../demo/linux-7.2.btf.xz")),
];

pub(crate) fn run(console: &mut Console<'_>) -> CommandResult {
    let shown = show(console);
    // Unresolved relocations are what the demo shows. A machine without kernel BTF is no error either. An
    // error of the output has its own exit status.
    console.exit = ExitStatus::Success;
    shown
}

fn show(console: &mut Console<'_>) -> CommandResult {
    let object = || vec![ObjectFile::embedded(OBJECT.0, OBJECT.1)];
    let kernels = KERNELS.map(|(name, bytes)| KernelSource::Embedded { name, bytes });
    let select = |sources: &[KernelSource]| KernelSelection::from_sources(sources.to_vec());
    print(console, "An object for process monitoring, against four kernels and the one running here:")?;
    print(console, "")?;
    print_command(
        console,
        "check exec.bpf.o --btf linux-5.10 --btf linux-6.1 --btf linux-6.12 --btf linux-7.2",
    )?;
    check::check(console, object(), &select(&kernels))?;
    print(console, "")?;
    print_command(console, "check exec.bpf.o")?;
    check::check(console, object(), &select(&[KernelSource::Running]))?;
    print(console, "")?;
    print(console, "Why it does not fit the oldest and the newest:")?;
    print(console, "")?;
    let [oldest, .., newest] = KERNELS;
    for (name, bytes) in [oldest, newest] {
        print_command(console, &format!("explain exec.bpf.o --btf {name}"))?;
        let kernel = KernelSource::Embedded { name, bytes };
        explain::explain(console, object(), &select(&[kernel]))?;
    }
    Ok(print(console, "Now yours: core-relo check YOUR.bpf.o [--btf DIR_OF_KERNELS]")?)
}

fn print(console: &mut Console<'_>, text: &str) -> io::Result<()> {
    if console.format == Format::Text { console.out.line(text) } else { Ok(()) }
}

fn print_command(console: &mut Console<'_>, line: &str) -> io::Result<()> {
    if console.format == Format::Text {
        let line = format_args!("core-relo {line}");
        console.out.line(Line::new().styled(DIM, "$").text(" ").styled(BOLD, line))?;
        // The command's errors go to stderr, and must come after this line.
        console.out.flush()?;
    }
    Ok(())
}
