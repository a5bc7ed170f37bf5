//! `token list`: the mounted bpffs that delegate rights.

use crate::{
    args::kernel_services::{TokenCommand, TokenListArgs},
    console::Console,
    describe,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    text::{
        line::Line,
        style::{BOLD, DIM},
    },
};
use core_relo_loader::inventory::{Mount, mounts};
use serde::Serialize;
use std::{io, path::Path};

/// The rights that a bpffs delegates to the processes that create a token from it. The keys of the JSON line
/// are those of `bpftool token`.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Delegation {
    /// The mount point.
    token_info: String,
    allowed_cmds: Vec<String>,
    allowed_maps: Vec<String>,
    allowed_progs: Vec<String>,
    allowed_attachs: Vec<String>,
}

impl Delegation {
    /// Reads the options of a mount. Returns `None` if it delegates nothing.
    fn new(mount: &Mount) -> Option<Self> {
        let rights = |option: &str| -> Vec<String> {
            let values = mount.options.split(',').filter_map(|word| word.split_once('='));
            let value = values.filter(|(key, _)| *key == option).map(|(_, value)| value).next_back();
            let names = value.into_iter().flat_map(|value| value.split(':'));
            names.map(|name| describe::name(name.as_bytes())).collect()
        };
        let delegation = Self {
            token_info: escape_path(&mount.dir),
            allowed_cmds: rights("delegate_cmds"),
            allowed_maps: rights("delegate_maps"),
            allowed_progs: rights("delegate_progs"),
            allowed_attachs: rights("delegate_attachs"),
        };
        delegation.rights().iter().any(|(_, names)| !names.is_empty()).then_some(delegation)
    }

    fn rights(&self) -> [(&'static str, &[String]); 4] {
        [
            ("commands", &self.allowed_cmds),
            ("map types", &self.allowed_maps),
            ("program types", &self.allowed_progs),
            ("attach types", &self.allowed_attachs),
        ]
    }
}

pub(crate) fn run(console: &mut Console<'_>, command: &TokenCommand) -> CommandResult {
    let TokenCommand::List(args) = command;
    let delegations = delegations(args)?;
    Ok(print(console, args, &delegations)?)
}

fn delegations(args: &TokenListArgs) -> Result<Vec<Delegation>, BadInput> {
    let all =
        mounts("bpf").map_err(|e| BadInput::new("/proc/self/mounts", format_args!("cannot read it: {e}")))?;
    let Some(path) = &args.path else { return Ok(all.iter().filter_map(Delegation::new).collect()) };
    // A later mount at the same place hides the earlier ones.
    let Some(mount) = all.iter().rfind(|mount| is_at(mount, path)) else {
        let dirs: Vec<String> = all.iter().map(|mount| escape_path(&mount.dir)).collect();
        let bad = BadInput::for_path(path, "no bpffs is mounted here");
        return Err(bad.help(match dirs.is_empty() {
            true => "none is mounted at all".to_owned(),
            false => format!("they are mounted at {}", dirs.join(", ")),
        }));
    };
    let delegation = Delegation::new(mount).ok_or_else(|| {
        BadInput::for_path(path, "this bpffs delegates nothing").help("mount it with -o delegate_cmds=…")
    })?;
    Ok(vec![delegation])
}

/// Returns whether a file system is mounted at a path, which may contain links and relative parts.
fn is_at(mount: &Mount, path: &Path) -> bool {
    mount.dir == path || path.canonicalize().is_ok_and(|canonical| mount.dir == canonical)
}

fn print(console: &mut Console<'_>, args: &TokenListArgs, delegations: &[Delegation]) -> io::Result<()> {
    if args.format == Format::Json {
        return delegations.iter().try_for_each(|delegation| console.out.json(delegation));
    }
    if delegations.is_empty() {
        return console.out.line("no mounted bpffs delegates rights");
    }
    for delegation in delegations {
        console.out.line(Line::new().styled(BOLD, &delegation.token_info))?;
        for (kind, names) in delegation.rights() {
            let names = if names.is_empty() { "none".to_owned() } else { names.join(" ") };
            let kind = format_args!("{kind:<14}");
            console.out.line(Line::new().text("    ").styled(DIM, kind).text(format_args!(" {names}")))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_mount_become_rights() {
        let mount = |options: &str| Mount { dir: "/token".into(), options: options.into() };
        let found =
            Delegation::new(&mount("rw,delegate_cmds=prog_load:map_create,delegate_maps=any")).unwrap();
        assert_eq!(found.allowed_cmds, ["prog_load", "map_create"]);
        assert_eq!((&*found.allowed_maps, found.allowed_progs.len()), (&["any".to_owned()][..], 0));
        assert_eq!(Delegation::new(&mount("rw,relatime,mode=700")), None);
    }
}
