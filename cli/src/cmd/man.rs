//! `man`: the manual pages of the commands.

use crate::{args::Args, console::Console, error::BadInput};
use std::io;

pub(crate) fn run(console: &mut Console<'_>, name: Option<&str>) -> io::Result<()> {
    let mut root_command = Args::full_command();
    root_command.build();
    let command = match name {
        None => &root_command,
        Some(name) => match root_command.find_subcommand(name) {
            Some(command) => command,
            None => {
                let names: Vec<_> = root_command.get_subcommands().map(clap::Command::get_name).collect();
                let bad = BadInput::new("man", format!("no command `{name}`"));
                return console.report_error(&bad.help(format!("the commands are {}", names.join(", "))));
            }
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    console.out.unescaped(&page)
}
