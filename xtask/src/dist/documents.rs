//! Manual pages and completion scripts, which the command prints.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Binary;
use crate::system::{Outcome, cargo, check, target_dir};

/// The shells with completion scripts, and the names of the files.
const SHELLS: [(&str, &str); 3] =
    [("bash", "core-relo.bash"), ("fish", "core-relo.fish"), ("zsh", "_core-relo")];

/// A file for people or shells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub name: String,
    pub text: Vec<u8>,
}

/// The documents.
#[derive(Debug)]
pub struct Documents {
    /// `core-relo-check.1`, …
    pub manual_pages: Vec<Document>,
    /// Bash, fish, zsh.
    pub completions: [Document; 3],
}

impl Documents {
    /// Collects what a command prints, which runs on this machine.
    pub fn print(command: &Path) -> Outcome<Self> {
        let mut manual_pages = Vec::new();
        print_pages(command, &mut Vec::new(), &mut manual_pages)?;
        let script = |(shell, name): (&str, &str)| -> Outcome<Document> {
            Ok(Document { name: name.to_owned(), text: print(command, &["completions", shell])? })
        };
        let [bash, fish, zsh] = SHELLS;
        Ok(Self { manual_pages, completions: [script(bash)?, script(fish)?, script(zsh)?] })
    }

    /// Returns the script for a shell.
    pub fn completion(&self, shell: &str) -> &[u8] {
        let place = SHELLS.iter().position(|(name, _)| *name == shell);
        place.and_then(|place| self.completions.get(place)).map_or(&[], |script| &script.text)
    }
}

/// Returns the file of a build that runs on this machine. If none does, the command is built for it.
pub fn runnable(binaries: &[Binary]) -> Outcome<PathBuf> {
    if let Some(binary) = binaries.iter().find(|binary| binary.platform.is_host()) {
        return Ok(binary.path.clone());
    }
    let target_dir = target_dir();
    let mut build = cargo();
    build.args(["build", "--locked", "-p", "core-relo-cli", "--all-features", "--target-dir"]);
    check(build.arg(&target_dir))?;
    Ok(target_dir.join("debug/core-relo"))
}

/// Adds the page of a command and those of its commands.
fn print_pages(command: &Path, words: &mut Vec<String>, pages: &mut Vec<Document>) -> Outcome {
    let arguments: Vec<&str> = ["man"].into_iter().chain(words.iter().map(String::as_str)).collect();
    let page = print(command, &arguments)?;
    let name = [&["core-relo".to_owned()], &**words].concat().join("-");
    let nested = commands(&String::from_utf8_lossy(&page), &name);
    pages.push(Document { name: format!("{name}.1"), text: page });
    for word in nested {
        words.push(word);
        print_pages(command, words, pages)?;
        words.pop();
    }
    Ok(())
}

/// Returns the commands that a page refers to: lines such as `core\-relo\-prog(1)`.
fn commands(page: &str, name: &str) -> Vec<String> {
    let lines = page.lines().map(|line| line.replace('\\', ""));
    let nested = lines.filter_map(|line| {
        let word = line.strip_suffix("(1)")?.strip_prefix(name)?.strip_prefix('-')?;
        // The page of `help` repeats the help of the others.
        (word != "help" && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
            .then(|| word.to_owned())
    });
    nested.collect()
}

fn print(command: &Path, words: &[&str]) -> Outcome<Vec<u8>> {
    let name = || format!("{} {}", command.display(), words.join(" "));
    let mut run = Command::new(command);
    let output = run.args(words).output().map_err(|error| format!("{}: {error}", name()))?;
    if !output.status.success() {
        return Err(format!("{}: {}", name(), String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn nested_commands_are_those_that_a_page_refers_to() {
        let page = ".SH SUBCOMMANDS\n.TP\ncore\\-relo\\-prog\\-list(1)\nList, as core\\-relo(1)\n.TP\n\
                    core\\-relo\\-prog\\-test\\-run(1)\n.TP\ncore\\-relo\\-prog\\-help(1)\n";
        assert_eq!(commands(page, "core-relo-prog"), ["list", "test-run"]);
    }
}
