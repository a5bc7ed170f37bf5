//! The arguments that `cargo xtask bench` passes.

use crate::peer::Peer;
use std::{ffi::OsString, fs, path::PathBuf};

/// The selected measurement.
#[derive(Clone, Debug)]
pub enum Args {
    Table(Table),
    Growth(Table),
    Ring(Table),
}

/// The options of the table of all jobs, of the growth tables and of the readers of rings.
#[derive(Clone, Debug)]
pub struct Table {
    pub btf: PathBuf,
    pub objects: PathBuf,
    /// The output directory: `bench.json`, and profiles below `bench/`.
    pub out: PathBuf,
    pub instructions: bool,
    pub rounds: Option<usize>,
    /// Peers that are not measured, with the reason.
    pub skipped: Vec<(Peer, String)>,
}

impl Table {
    /// Creates the directory for profiles and lists, and returns its path.
    pub(crate) fn profile_dir(&self) -> Result<PathBuf, String> {
        let dir = self.out.join("bench");
        fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        Ok(dir)
    }
}

/// Parses the arguments.
pub fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Args, String> {
    let mut word = move || words.next();
    let text = |word: Option<OsString>| {
        word.and_then(|w| w.into_string().ok()).ok_or_else(|| "an argument is missing".to_owned())
    };
    match &*text(word())? {
        command @ ("table" | "growth" | "ring") => {
            let mut table = Table {
                btf: "/sys/kernel/btf/vmlinux".into(),
                objects: PathBuf::new(),
                out: PathBuf::new(),
                instructions: false,
                rounds: None,
                skipped: Vec::new(),
            };
            while let Some(flag) = word() {
                match &*text(Some(flag))? {
                    "--btf" => table.btf = word().ok_or("--btf needs a file")?.into(),
                    "--objects" => table.objects = word().ok_or("--objects needs a directory")?.into(),
                    "--out" => table.out = word().ok_or("--out needs a directory")?.into(),
                    "--instructions" => table.instructions = true,
                    "--rounds" => {
                        let rounds = text(word())?.parse().ok().filter(|n| *n > 0);
                        table.rounds = Some(rounds.ok_or("--rounds needs a number")?);
                    }
                    "--without" => table.skipped.push((find_peer(&text(word())?)?, text(word())?)),
                    other => return Err(format!("unknown argument `{other}`")),
                }
            }
            Ok(match command {
                "table" => Args::Table(table),
                "growth" => Args::Growth(table),
                _ => Args::Ring(table),
            })
        }
        other => Err(format!("unknown command `{other}`")),
    }
}

fn find_peer(name: &str) -> Result<Peer, String> {
    Peer::ALL.into_iter().find(|peer| peer.name() == name).ok_or_else(|| format!("unknown peer `{name}`"))
}
