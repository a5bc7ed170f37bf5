//! `completions` and `man`: the program about itself.

use crate::{app::App, args::Args, error::BadInput};
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::io;

pub(crate) fn completions(app: &mut App<'_>, shell: Shell) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "core-relo", &mut script);
    app.out.file(&script)
}

pub(crate) fn man(app: &mut App<'_>, wanted: Option<&str>) -> io::Result<()> {
    let mut all = Args::command();
    all.build();
    let page = match wanted {
        None => Some(&all),
        Some(name) => all.find_subcommand(name),
    };
    let Some(page) = page else {
        let names: Vec<_> = all.get_subcommands().map(clap::Command::get_name).collect();
        let what = format!("no command `{}`", wanted.unwrap_or_default());
        return app.fail(&BadInput::new("man", what).help(format!("there are {}", names.join(", "))));
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page.clone()).render(&mut text)?;
    app.out.file(&text)
}
