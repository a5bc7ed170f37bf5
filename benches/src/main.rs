//! What `cargo xtask bench` runs.

use core_relo_bench::{
    args::{self, Args, Run},
    child, growth, measure, table,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Who reads only the first lines ends this, without a panic.
    // SAFETY: the default action, set before anything else is done.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let mut words = std::env::args_os().skip(1).peekable();
    let done = match words.next_if(|word| word == "peak") {
        Some(_) => child::report_peak(words),
        None => args::parse(words).and_then(|args| match args {
            Args::Table(args) => table::run(&args),
            Args::Growth(args) => growth::run(&args),
            Args::Run(run) => job(&run),
            Args::Time(run) => time(&run),
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// What a child does: one job, so many times.
fn job(run: &Run) -> Result<(), String> {
    let ready = run.job.prepare(run.peer, &run.btf, &run.objects)?;
    (0..run.times).try_for_each(|_| ready.run())
}

/// What a child does that measures itself.
fn time(run: &Run) -> Result<(), String> {
    let ready = run.job.prepare(run.peer, &run.btf, &run.objects)?;
    println!("{}", measure::shortest(&ready)?);
    Ok(())
}
