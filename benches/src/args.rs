//! The words that `cargo xtask bench` calls this program with.

use crate::peer::Peer;
use std::{ffi::OsString, path::PathBuf};

/// What to do.
#[derive(Clone, Debug)]
pub enum Args {
    Table(Table),
    Growth(Table),
}

/// The table of all jobs, or the tables of growth.
#[derive(Clone, Debug)]
pub struct Table {
    pub btf: PathBuf,
    pub objects: PathBuf,
    /// Where files are put: `bench.json`, and below `bench/` profiles.
    pub out: PathBuf,
    pub instructions: bool,
    pub rounds: Option<usize>,
    /// Peers that are not measured, and why.
    pub without: Vec<(Peer, String)>,
}

/// Reads them.
pub fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Args, String> {
    let mut word = move || words.next();
    let text = |word: Option<OsString>| {
        word.and_then(|w| w.into_string().ok()).ok_or_else(|| "a word is missing".to_owned())
    };
    match &*text(word())? {
        what @ ("table" | "growth") => {
            let mut table = Table {
                btf: "/sys/kernel/btf/vmlinux".into(),
                objects: PathBuf::new(),
                out: PathBuf::new(),
                instructions: false,
                rounds: None,
                without: Vec::new(),
            };
            while let Some(flag) = word() {
                match &*text(Some(flag))? {
                    "--btf" => table.btf = word().ok_or("--btf wants a file")?.into(),
                    "--objects" => table.objects = word().ok_or("--objects wants a folder")?.into(),
                    "--out" => table.out = word().ok_or("--out wants a folder")?.into(),
                    "--instructions" => table.instructions = true,
                    "--rounds" => {
                        let rounds = text(word())?.parse().ok().filter(|n| *n > 0);
                        table.rounds = Some(rounds.ok_or("--rounds wants a number")?);
                    }
                    "--without" => table.without.push((peer_named(&text(word())?)?, text(word())?)),
                    other => return Err(format!("unknown argument `{other}`")),
                }
            }
            Ok(if what == "table" { Args::Table(table) } else { Args::Growth(table) })
        }
        other => Err(format!("nothing to do is called `{other}`")),
    }
}

fn peer_named(name: &str) -> Result<Peer, String> {
    Peer::ALL.into_iter().find(|peer| peer.name() == name).ok_or_else(|| format!("nobody is called `{name}`"))
}
