//! The `main` function of the programs `src/bin/once_*.rs`, which run one job. Each program links one peer
//! only, so that the memory and the instructions of its process are those of the peer.

use crate::{
    corpus::Corpus,
    job::{Job, Ready},
    measure,
    peer::Prepared,
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// A job with its repetitions and input.
#[derive(Clone, Debug)]
pub struct Run {
    pub job: Job,
    pub times: usize,
    pub btf: PathBuf,
    pub objects: Vec<PathBuf>,
}

/// The action of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run the job.
    Run,
    /// Repeat the job and print its shortest time: [`measure::shortest`].
    Time,
}

impl Run {
    /// Returns a run of the job's objects on the target of the corpus.
    pub fn new(job: Job, times: usize, corpus: &Corpus) -> Self {
        Self { job, times, btf: corpus.target.clone(), objects: job.objects(corpus) }
    }

    /// Returns the arguments of a program.
    pub fn to_args(&self, action: Action) -> Vec<OsString> {
        let words = [action.word(), self.job.key(), &self.times.to_string()].map(OsString::from);
        let paths = std::iter::once(&self.btf).chain(&self.objects);
        words.into_iter().chain(paths.map(|path| path.clone().into_os_string())).collect()
    }

    /// Parses the arguments of a program.
    fn parse(mut words: impl Iterator<Item = OsString>) -> Result<(Action, Self), String> {
        let mut word = move || words.next();
        let text = |word: Option<OsString>| word.and_then(|w| w.into_string().ok());
        let action =
            text(word()).and_then(|word| [Action::Run, Action::Time].into_iter().find(|w| w.word() == word));
        let action = action.ok_or("usage: run|time JOB TIMES TARGET OBJECT...")?;
        let run = Self {
            job: text(word()).and_then(|key| Job::from_key(&key)).ok_or("no such job")?,
            times: text(word()).and_then(|times| times.parse().ok()).ok_or("no number of repetitions")?,
            btf: word().ok_or("no target")?.into(),
            objects: std::iter::from_fn(word).map(PathBuf::from).collect(),
        };
        Ok((action, run))
    }
}

impl Action {
    const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Time => "time",
        }
    }
}

/// Runs a program for the peer that `prepare` creates.
pub fn main<P: Prepared + 'static>(prepare: impl FnOnce(&Path, &[PathBuf]) -> Result<P, String>) -> ExitCode {
    match execute(prepare) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn execute<P: Prepared + 'static>(
    prepare: impl FnOnce(&Path, &[PathBuf]) -> Result<P, String>,
) -> Result<(), String> {
    let (action, run) = Run::parse(std::env::args_os().skip(1))?;
    let ready = Ready::new(run.job, Box::new(prepare(&run.btf, &run.objects)?));
    match action {
        Action::Run => (0..run.times).try_for_each(|_| ready.run()),
        Action::Time => measure::shortest(&ready).map(|ms| println!("{ms}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_a_round_trip() {
        let run = Run { job: Job::Few, times: 3, btf: "a b".into(), objects: vec!["c".into(), "d".into()] };
        for action in [Action::Run, Action::Time] {
            let (read_action, read) = Run::parse(run.to_args(action).into_iter()).unwrap();
            assert_eq!((read_action, read.job, read.times), (action, run.job, run.times));
            assert_eq!((read.btf, read.objects), (run.btf.clone(), run.objects.clone()));
        }
        for words in [&[][..], &["walk"], &["run", "few", "once", "target"], &["run", "few", "1"]] {
            assert!(Run::parse(words.iter().map(OsString::from)).is_err(), "{words:?}");
        }
    }
}
