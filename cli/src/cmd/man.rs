//! `man`: the manual pages of the commands.

use crate::{args::Args, console::Console, error::BadInput, error::CommandResult};
use clap::Command;
use std::io;

/// The source of the pages, in their footer.
const SOURCE: &str = concat!("core-relo ", env!("CARGO_PKG_VERSION"));

pub(crate) fn run(console: &mut Console<'_>, names: &[String]) -> CommandResult {
    let mut root = Args::full_command();
    root.build();
    let command = find(&root, names)?;
    Ok(console.out.unescaped(&page(command)?)?)
}

/// Returns the page of a command.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).source(SOURCE).render(&mut page)?;
    Ok(page)
}

/// Returns the command that the names lead to, each one a subcommand of the one before.
fn find<'c>(root: &'c Command, names: &[String]) -> Result<&'c Command, BadInput> {
    let mut command = root;
    let mut parent = String::new();
    for name in names {
        command = command.find_subcommand(name).ok_or_else(|| {
            let known: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            let help = match (known.is_empty(), &*parent) {
                (true, _) => format!("`{parent}` has no commands"),
                (false, "") => format!("the commands are {}", known.join(", ")),
                (false, _) => format!("the commands of `{parent}` are {}", known.join(", ")),
            };
            let separator = if parent.is_empty() { "" } else { " " };
            BadInput::new("man", format!("no command `{parent}{separator}{name}`")).help(help)
        })?;
        if !parent.is_empty() {
            parent.push(' ');
        }
        parent.push_str(name);
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built() -> Command {
        let mut root = Args::full_command();
        root.build();
        root
    }

    #[test]
    fn every_command_has_a_page() {
        fn check(root: &Command, command: &Command, path: &mut Vec<String>) -> usize {
            let found = find(root, path).unwrap();
            let page = String::from_utf8(page(found).unwrap()).unwrap();
            let name = ["core-relo"].into_iter().chain(path.iter().map(String::as_str));
            let title = format!(".TH {} 1 ", name.collect::<Vec<_>>().join("-"));
            assert!(page.contains("\"core-relo 0."), "{page}");
            assert!(page.contains(&title) && page.contains(".SH SYNOPSIS"), "{title}: {page}");
            let mut count = 1;
            for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
                path.push(child.get_name().into());
                count += check(root, child, path);
                path.pop();
            }
            count
        }
        let root = built();
        let nested = ["prog", "attach"].map(String::from);
        assert!(find(&root, &nested).is_ok());
        assert!(check(&root, &root, &mut Vec::new()) > 80);
    }

    #[test]
    fn unknown_commands_are_named_with_those_of_their_parent() {
        let root = built();
        for (names, message) in [
            (&["nonsense"][..], "no command `nonsense`; the commands are check, report, plan"),
            (&["prog", "nonsense"], "no command `prog nonsense`; the commands of `prog` are list, show"),
            (&["prog", "list", "x"], "no command `prog list x`; `prog list` has no commands"),
        ] {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            let error = find(&root, &names).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
