//! The examples in the documents and in the help: each is a command line that the command takes.

use super::Args;
use std::{fs, path::Path};

/// Returns the commands in a Markdown text: lines of code blocks, and those after "for example".
fn commands_of_document(text: &str) -> Vec<String> {
    let (mut commands, mut is_code) = (Vec::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            let line = line.trim_start();
            let command = line.strip_prefix("$ ").unwrap_or(line);
            commands.extend(command.starts_with("core-relo ").then(|| command.to_owned()));
        } else {
            let examples = line.split("for example `").skip(1).filter_map(|rest| rest.split('`').next());
            commands.extend(examples.filter(|code| code.starts_with("core-relo ")).map(str::to_owned));
        }
    }
    commands
}

/// Adds the examples in the help of a command and its subcommands.
fn add_examples_of_help(command: &clap::Command, commands: &mut Vec<String>) {
    let help = command.get_after_help().map_or_else(String::new, ToString::to_string);
    // A comment follows after some spaces.
    let examples = help.lines().filter_map(|line| line.strip_prefix("  ")?.split("  ").next());
    commands.extend(examples.filter(|line| line.starts_with("core-relo ")).map(str::to_owned));
    command.get_subcommands().for_each(|command| add_examples_of_help(command, commands));
}

/// Returns the words of a command for a shell, up to a pipe, a redirection or a comment. `None` for a command
/// that goes on in the next line.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in command.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c == ' ' => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            _ => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    let is_end =
        |word: &String| matches!(word.as_str(), "|" | ">" | ">>" | "<" | "#" | "&&" | "||" | "&" | ";");
    if words.last().is_some_and(|word| word == "\\") {
        return None;
    }
    let end = words.iter().position(is_end).unwrap_or(words.len());
    words.truncate(end);
    Some(words)
}

#[test]
fn examples_in_documents_and_help_are_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut commands = Vec::new();
    add_examples_of_help(&Args::full_command(), &mut commands);
    // A package has no documents.
    let documents = fs::read_dir(root.join("docs")).into_iter().flatten().map(|entry| entry.unwrap().path());
    for path in documents.chain([root.join("README.md")]).filter(|path| path.is_file()) {
        commands.extend(commands_of_document(&fs::read_to_string(path).unwrap()));
    }
    assert!(commands.len() > 20, "{commands:?}");
    let refusal = |command: &String| {
        let error = Args::full_command().try_get_matches_from(&words(command)?).err()?;
        error.use_stderr().then(|| format!("{command}: {error}"))
    };
    let refused: Vec<_> = commands.iter().filter_map(refusal).collect();
    assert!(refused.is_empty(), "{}", refused.concat());
}
