//! `batch`: commands from a file, one for each line.

use crate::{
    args::{Args, Command, batch::BatchArgs, format::Color},
    console::{Console, ExitStatus},
    dispatch,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    input::limits::{MAX_BATCH_BYTES, MAX_BATCH_ERROR_CHARS},
    output::is_stdout_closed,
    process::signals,
};
use clap::error::ErrorKind;
use core_relo_kernels::file;

pub(crate) fn run(console: &mut Console<'_>, batch: &BatchArgs, color: Color) -> CommandResult {
    let name = escape_path(&batch.file);
    let bytes = file::read(&batch.file, MAX_BATCH_BYTES)?;
    let text = str::from_utf8(&bytes).map_err(|e| {
        let lines_before = bytes.iter().take(e.valid_up_to()).filter(|byte| **byte == b'\n').count();
        BadInput::new(format!("{name}:{}", lines_before + 1), "the line is no UTF-8 text")
    })?;
    let mut command = Args::full_command();
    let mut lines = (1u32..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let place = format!("{name}:{number}");
        let args = match parse_line(&mut command, line, batch.format) {
            Ok(None) => continue,
            Ok(Some(args)) => args,
            Err(what) => {
                console.batch_line = Some(number);
                console.report_error(&BadInput::new(place, what))?;
                // The next command has a buffer of its own.
                console.out.flush()?;
                if batch.keep_going {
                    continue;
                }
                return Ok(());
            }
        };
        let mut args =
            Args { color: if matches!(args.color, Color::Auto) { color } else { args.color }, ..args };
        args.files.add_input("", &batch.file);
        let status = dispatch::run(&args, Some(number))?;
        console.raise_exit(status);
        // Signals that a complete command ignores until its exit end the process again.
        signals::stop_ignoring();
        let is_last = !lines.clone().any(|(_, line)| has_command(line));
        match (is_last, signals::arrived(), is_stdout_closed()) {
            (false, Some(signal), _) => {
                console
                    .note(&format!("{place}: a signal arrived during this command, which ends the batch"))?;
                return Ok(signals::end_process(signal)?);
            }
            (false, None, true) => {
                // The commands of the other lines are missing.
                console.raise_exit(ExitStatus::Error);
                return Ok(console
                    .note(&format!("{place}: the reader of the output is gone, which ends the batch"))?);
            }
            _ => {}
        }
        if status == ExitStatus::Success {
            continue;
        }
        let failure = format!("this command failed with exit status {}", status.code());
        if !batch.keep_going && !is_last {
            console.note(&format!("{place}: {failure}, which ends the batch; --keep-going goes on"))?;
            return Ok(());
        }
        console.note(&format!("{place}: {failure}"))?;
    }
    Ok(())
}

/// Returns whether a line is more than a comment and spaces.
fn has_command(line: &str) -> bool {
    shlex::split(line).is_none_or(|words| !words.is_empty())
}

/// Parses a line: `None` if it has no command. The growth test counts the instructions from one call to the
/// next.
#[inline(never)]
fn parse_line(command: &mut clap::Command, line: &str, format: Format) -> Result<Option<Args>, String> {
    let words = shlex::split(line).ok_or("a quote is not closed, or a backslash ends the line")?;
    if words.is_empty() {
        return Ok(None);
    }
    let mut parse = |more: &[&str]| {
        let words =
            ["core-relo"].into_iter().chain(words.iter().map(String::as_str)).chain(more.iter().copied());
        Args::parse_with(command, words.map(Into::into))
    };
    let json: &[&str] = &["--format", "json"];
    let parsed = match format {
        Format::Text => parse(&[]),
        // Some commands have one format, and a line may name its own.
        Format::Json => parse(json).or_else(|_no_such_option| parse(&[])),
    };
    match parsed {
        Ok(Args { command: Command::Batch(_), .. }) => Err("`batch` cannot run in a batch".into()),
        Ok(args) => Ok(Some(args)),
        Err(e) if e.kind() == ErrorKind::DisplayHelp => {
            Err("a batch prints no help, expected a command".into())
        }
        Err(e) if e.kind() == ErrorKind::DisplayVersion => {
            Err("a batch prints no version: run `core-relo version` by itself".into())
        }
        // The text of this error is the help, not the problem.
        Err(e) if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let words = shorten(&words.join(" "));
            Err(format!("`{words}` is incomplete, expected a subcommand and its arguments"))
        }
        Err(e) => {
            let text = e.to_string();
            let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
            let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
            // A list follows a colon.
            let text = text.replace(":; ", ": ");
            Err(shorten(text.strip_prefix("error: ").unwrap_or(&text)))
        }
    }
}

/// Shortens the text of an error, which repeats the words of its line.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_BATCH_ERROR_CHARS) {
        Some((end, _)) => format!("{}... ({} bytes)", text.split_at(end).0, text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_words_with_quotes_and_comments() {
        // A batch parses all lines with one description of the command line.
        let mut command = Args::full_command();
        let mut parse = |line: &str, format| parse_line(&mut command, line, format);
        for line in ["", "  ", "# map list", "  # x"] {
            assert!(parse(line, Format::Text).unwrap().is_none() && !has_command(line), "{line}");
        }
        let args = parse("map update --name 'a b' 1 2 # comment", Format::Json).unwrap().unwrap();
        assert_eq!(args.command.format(), Format::Json);
        let args = parse("map list --format text", Format::Json).unwrap().unwrap();
        assert_eq!(args.command.format(), Format::Text, "the line's own format");
        for (line, what) in [
            ("map 'list", "a quote is not closed"),
            ("batch -", "`batch` cannot run in a batch"),
            ("map --help", "prints no help"),
            ("mop list", "unrecognized subcommand 'mop'"),
            ("map list 7", "unexpected argument '7' found"),
            ("prog", "`prog` is incomplete, expected a subcommand"),
            ("vm", "arguments were not provided: <--kernel"),
        ] {
            let error = parse(line, Format::Text).unwrap_err();
            assert!(error.contains(what) && !error.contains('\n'), "{line}: {error}");
            assert!(has_command(line), "{line}");
        }
        let long = parse(&format!("map list {}", "x".repeat(100_000)), Format::Text).unwrap_err();
        assert!(long.len() < 500 && long.ends_with(" bytes)"), "{long}");
    }
}
