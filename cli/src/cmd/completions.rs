//! `completions`: shell completion scripts.

use crate::{args::completion::write_script, console::Console};
use clap_complete::Shell;
use std::io;

pub(crate) fn run(console: &mut Console<'_>, shell: Shell) -> io::Result<()> {
    let mut script = Vec::new();
    write_script(&shell.to_string(), &mut script)?;
    console.out.unescaped(&script)
}
