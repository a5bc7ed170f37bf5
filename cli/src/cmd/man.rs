//! `man`: manual pages.

use crate::{args::Args, console::Console, error::BadInput};
use clap::CommandFactory as _;
use std::io;

pub(crate) fn run(console: &mut Console<'_>, name: Option<&str>) -> io::Result<()> {
    let mut program = Args::command();
    program.build();
    let command = match name {
        None => &program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command,
            None => {
                let names: Vec<_> = program.get_subcommands().map(clap::Command::get_name).collect();
                let bad = BadInput::new("man", format!("no command `{name}`"));
                return console.fail(&bad.help(format!("there are {}", names.join(", "))));
            }
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    console.out.file(&page)
}
