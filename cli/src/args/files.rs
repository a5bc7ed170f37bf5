//! The files that a command line names. Outputs are of the type [`OutputPath`], so that the rules for outputs
//! hold for all commands.

use crate::output::{CommandFiles, NamedOutput, OutputPath};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::{any::TypeId, path::PathBuf};

/// The option that replaces files of another kind. Each command with an output has it.
const FORCE: &str = "force";

/// The output of `check --resume`. It is continued, not replaced, so `--force` has no effect on it.
const RESUME: &str = "resume";

/// Collects the files of a parsed command line: the values of all arguments that are paths.
pub(super) fn collect_files(command: &Command, matches: &ArgMatches) -> CommandFiles {
    let (mut command, mut matches) = (command, matches);
    while let Some((name, submatches)) = matches.subcommand()
        && let Some(subcommand) = command.find_subcommand(name)
    {
        (command, matches) = (subcommand, submatches);
    }
    let mut files = CommandFiles::default();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        if is_output(argument) {
            let paths = matches.try_get_many::<OutputPath>(id).ok().flatten();
            let named = |path: &OutputPath| NamedOutput { option: option_name(argument), path: path.clone() };
            files.outputs.extend(paths.into_iter().flatten().map(named));
        } else if is_path(argument) {
            let paths = matches.try_get_many::<PathBuf>(id).ok().flatten();
            paths.into_iter().flatten().for_each(|path| files.add_input(id, path));
        } else if id == FORCE {
            files.is_forced = matches.get_flag(id);
        }
    }
    files
}

/// Adds `--force` to each command with an output.
pub(super) fn with_force(command: Command) -> Command {
    let is_replaced = |argument: &&Arg| is_output(argument) && argument.get_id() != RESUME;
    let outputs: Vec<_> = command.get_arguments().filter(is_replaced).map(option_name).collect();
    let is_continued = command.get_arguments().any(|argument| argument.get_id() == RESUME);
    let command = command.mut_subcommands(with_force);
    if outputs.is_empty() {
        return command;
    }
    let help = format!("Replace output files of another kind ({}), but no inputs", outputs.join(", "));
    let force = Arg::new(FORCE).long(FORCE).action(ArgAction::SetTrue).help(help);
    command.arg(if is_continued { force.conflicts_with(RESUME) } else { force })
}

/// Returns the shortest way to give an argument: `-o`, `--report`, `OUT`.
fn option_name(argument: &Arg) -> String {
    match (argument.get_short(), argument.get_long()) {
        (Some(short), _) => format!("-{short}"),
        (None, Some(long)) => format!("--{long}"),
        (None, None) => argument.get_value_names().into_iter().flatten().map(|name| name.as_str()).collect(),
    }
}

fn is_output(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<OutputPath>()
}

fn is_path(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::{args::Args, output::check_outputs};
    use clap::ValueHint;
    use std::{ffi::OsString, fs, path::Path};

    /// The outputs that may replace an input: command, output and input.
    const IN_PLACE: &[(&str, &str, &str)] = &[
        ("patch", "output", "object"),
        ("btf ids", "output", "path"),
        ("prog sign", "output", "loader"),
        ("check", "write_budget", "budget"),
        ("load", "write_budget", "budget"),
        ("vm", "write_budget", "budget"),
    ];

    /// Calls a function for each command, with the words that name it.
    fn for_each_command(command: &Command, words: &[&str], visit: &mut dyn FnMut(&Command, &[&str])) {
        visit(command, words);
        for subcommand in command.get_subcommands() {
            let words = [words, &[subcommand.get_name()]].concat();
            for_each_command(subcommand, &words, visit);
        }
    }

    fn full_command() -> Command {
        let mut command = Args::full_command();
        command.build();
        command
    }

    /// Returns the check of a command line that gives the same path to some arguments. Other errors of the
    /// command line do not count.
    fn check(words: &[&str], arguments: &[&Arg], path: &Path) -> Result<(), String> {
        let mut line: Vec<OsString> = ["core-relo"].iter().chain(words).map(OsString::from).collect();
        for argument in arguments.iter().filter(|argument| !argument.is_positional()) {
            line.push(format!("--{}", argument.get_long().unwrap()).into());
            let further = 1..argument.get_num_args().unwrap().min_values().max(1);
            line.push(path.into());
            line.extend(further.map(|value| path.with_extension(value.to_string()).into()));
        }
        let last = arguments.iter().filter_map(|argument| argument.get_index()).max().unwrap_or(0);
        line.extend((0..last).map(|_| path.into()));
        let mut command = Args::full_command().ignore_errors(true);
        let matches = command.try_get_matches_from_mut(line).unwrap();
        let files = collect_files(&command, &matches);
        assert!(!files.outputs.is_empty(), "{words:?}");
        check_outputs(&files).map_err(|bad| bad.to_string())
    }

    /// An output that is not of the type [`OutputPath`] cannot be written to. An input that is no `PathBuf`
    /// would not be protected.
    #[test]
    fn all_paths_on_the_command_line_are_known_as_inputs_or_outputs() {
        let mut commands_with_outputs = 0;
        for_each_command(&full_command(), &[], &mut |command, words| {
            let has_output = command.get_arguments().any(is_output);
            for argument in command.get_arguments().filter(|_| has_output) {
                let is_file = matches!(argument.get_value_hint(), ValueHint::FilePath | ValueHint::AnyPath);
                assert!(!is_file || is_path(argument) || is_output(argument), "{words:?} {argument}");
            }
            let has_force = command.get_arguments().any(|argument| argument.get_id() == FORCE);
            assert!(has_force || !has_output, "{words:?}");
            commands_with_outputs += usize::from(has_output);
        });
        assert!(commands_with_outputs >= 18, "{commands_with_outputs}");
    }

    /// `--force` alone would read as if `load` forced the load.
    #[test]
    fn the_help_of_force_names_the_outputs() {
        let help_of = |name: &str| {
            let command = full_command();
            let force = command.find_subcommand(name).unwrap().get_arguments().find(|a| a.get_id() == FORCE);
            force.unwrap().get_help().unwrap().to_string()
        };
        assert!(help_of("load").contains("(--write-budget)"), "{}", help_of("load"));
        assert!(help_of("patch").contains("(-o)"), "{}", help_of("patch"));
        let check = help_of("check");
        assert!(check.contains("--report") && !check.contains("--resume"), "{check}");
        let words = ["core-relo", "check", "a.o", "--resume", "results", "--force"];
        let error = Args::full_command().try_get_matches_from(words).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict);
    }

    #[test]
    fn no_output_of_any_command_replaces_an_input_or_a_file_of_another_kind() {
        let dir = tempfile::tempdir().unwrap();
        let (elf, text) = (dir.path().join("object"), dir.path().join("notes"));
        fs::write(&elf, b"\x7fELF\x02\x01\x01").unwrap();
        fs::write(&text, "notes").unwrap();
        let mut in_place = Vec::new();
        for_each_command(&full_command(), &[], &mut |command, words| {
            let name = words.join(" ");
            for output in command.get_arguments().filter(|argument| is_output(argument)) {
                let id = output.get_id().as_str();
                for input in command.get_arguments().filter(|argument| is_path(argument)) {
                    let place = format!("{name} {id} {}", input.get_id());
                    match check(words, &[output, input], &elf) {
                        Err(e) if e.contains("is an input and the output") => {}
                        _ => in_place.push(place),
                    }
                }
                if id == RESUME {
                    continue;
                }
                let refused = [&elf, &text].map(|path| check(words, &[output], path));
                assert!(refused.iter().any(Result::is_err), "{name} {id} replaces any file");
                for e in refused.into_iter().filter_map(Result::err) {
                    assert!(
                        e.contains("exists and is of another kind") && e.contains("--force"),
                        "{name}: {e}"
                    );
                }
            }
        });
        for_each_command(&full_command(), &[], &mut |command, words| {
            for (_, output, _) in IN_PLACE.iter().filter(|(name, ..)| *name == words.join(" ")) {
                let argument = command.get_arguments().find(|argument| argument.get_id() == output);
                let help = argument.unwrap().get_help().unwrap().to_string();
                assert!(help.contains("may be "), "{words:?} {output}: {help}");
            }
        });
        in_place.sort();
        let name = |(command, output, input): &(&str, &str, &str)| format!("{command} {output} {input}");
        let mut expected: Vec<_> = IN_PLACE.iter().map(name).collect();
        expected.sort();
        assert_eq!(in_place, expected);
    }
}
