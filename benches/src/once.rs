//! What the small programs do (`src/bin/once_*.rs`): one job. Each links one peer and no other, so that what is counted of its
//! process, memory and instructions, is that peer's.

use crate::{
    job::{Job, Ready},
    measure,
    peer::Prepared,
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// One job, so many times.
#[derive(Clone, Debug)]
pub struct Run {
    pub job: Job,
    pub times: usize,
    pub btf: PathBuf,
    pub objects: Vec<PathBuf>,
}

/// What is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The job.
    Run,
    /// As often as it takes to print how long it takes: [`measure::shortest`].
    Time,
}

impl Run {
    /// The words that a small program is called with.
    pub fn to_args(&self, what: What) -> Vec<OsString> {
        let words = [what.word(), self.job.key(), &self.times.to_string()].map(OsString::from);
        let paths = std::iter::once(&self.btf).chain(&self.objects);
        words.into_iter().chain(paths.map(|path| path.clone().into_os_string())).collect()
    }

    /// Reads them.
    fn parse(mut words: impl Iterator<Item = OsString>) -> Result<(What, Self), String> {
        let mut word = move || words.next();
        let text = |word: Option<OsString>| word.and_then(|w| w.into_string().ok());
        let what =
            text(word()).and_then(|word| [What::Run, What::Time].into_iter().find(|w| w.word() == word));
        let what = what.ok_or("usage: run|time JOB TIMES TARGET OBJECT...")?;
        let run = Self {
            job: text(word()).and_then(|key| Job::named(&key)).ok_or("no such job")?,
            times: text(word()).and_then(|times| times.parse().ok()).ok_or("no number of times")?,
            btf: word().ok_or("no target")?.into(),
            objects: std::iter::from_fn(word).map(PathBuf::from).collect(),
        };
        Ok((what, run))
    }
}

impl What {
    const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Time => "time",
        }
    }
}

/// All of a small program, but for whom it measures.
pub fn main<P: Prepared + 'static>(prepare: impl FnOnce(&Path, &[PathBuf]) -> Result<P, String>) -> ExitCode {
    match done(prepare) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn done<P: Prepared + 'static>(
    prepare: impl FnOnce(&Path, &[PathBuf]) -> Result<P, String>,
) -> Result<(), String> {
    let (what, run) = Run::parse(std::env::args_os().skip(1))?;
    let ready = Ready::new(run.job, Box::new(prepare(&run.btf, &run.objects)?));
    match what {
        What::Run => (0..run.times).try_for_each(|_| ready.run()),
        What::Time => measure::shortest(&ready).map(|ms| println!("{ms}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_read_as_they_were_meant() {
        let run = Run { job: Job::Few, times: 3, btf: "a b".into(), objects: vec!["c".into(), "d".into()] };
        for what in [What::Run, What::Time] {
            let (read_what, read) = Run::parse(run.to_args(what).into_iter()).unwrap();
            assert_eq!((read_what, read.job, read.times), (what, run.job, run.times));
            assert_eq!((read.btf, read.objects), (run.btf.clone(), run.objects.clone()));
        }
        for words in [&[][..], &["walk"], &["run", "few", "once", "target"], &["run", "few", "1"]] {
            assert!(Run::parse(words.iter().map(OsString::from)).is_err(), "{words:?}");
        }
    }
}
