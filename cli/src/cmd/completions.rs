//! `completions`: shell completion scripts.

use crate::{args::completion::write_script, console::Console, error::CommandResult};
use clap_complete::Shell;

pub(crate) fn run(console: &mut Console<'_>, shell: Shell) -> CommandResult {
    let mut script = Vec::new();
    write_script(&shell.to_string(), &mut script)?;
    Ok(console.out.unescaped(&script)?)
}
