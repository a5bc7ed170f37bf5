//! `completions`: shell completion scripts.

use crate::{args::Args, console::Console};
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::io;

pub(crate) fn run(console: &mut Console<'_>, shell: Shell) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "core-relo", &mut script);
    console.out.unescaped(&script)
}
