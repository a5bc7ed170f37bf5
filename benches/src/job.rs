//! The measured jobs.

use crate::{
    corpus::Corpus,
    peer::{Peer, Prepared},
};
use std::path::{Path, PathBuf};

/// A measured job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Parse the target.
    Parse,
    /// Parse the target and validate every reference of every type.
    Validate,
    /// Relocate one object with few records.
    Few,
    /// Relocate one object with many records.
    Many,
    /// Relocate many objects and parse the target for each.
    Fresh,
    /// Relocate many objects on one parsed target.
    Shared,
    /// Load many objects into the running kernel, one after the other.
    Load,
    /// Relocate many objects on each of many kernels, for the growth tables.
    Kernels,
}

impl Job {
    /// The jobs of the table, except for the load, which needs permission to load programs.
    pub const TABLE: [Self; 6] =
        [Self::Parse, Self::Validate, Self::Few, Self::Many, Self::Fresh, Self::Shared];

    /// Finds a job by its [`key`](Self::key).
    pub fn from_key(key: &str) -> Option<Self> {
        Self::TABLE.into_iter().chain([Self::Load, Self::Kernels]).find(|job| job.key() == key)
    }

    /// Returns the name of the job in arguments.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Validate => "validate",
            Self::Few => "few",
            Self::Many => "many",
            Self::Fresh => "fresh",
            Self::Shared => "shared",
            Self::Load => "load",
            Self::Kernels => "kernels",
        }
    }

    /// Returns the title of the job in the table.
    pub fn title(self, corpus: &Corpus) -> String {
        let (few, many, all) = (corpus.few.records, corpus.many.records, corpus.objects.len());
        match self {
            Self::Parse => "parse the target BTF".to_owned(),
            Self::Validate => "the same, all of it validated".to_owned(),
            Self::Few => format!("one object, {few} records, whole job"),
            Self::Many => format!("one object, {many} records, whole job"),
            Self::Fresh => format!("{all} objects, a fresh target each"),
            Self::Shared => format!("{all} objects, one shared target"),
            Self::Load => format!("load {all} objects"),
            Self::Kernels => format!("{all} objects, each kernel in turn"),
        }
    }

    /// Returns the objects of the job.
    pub fn objects(self, corpus: &Corpus) -> Vec<PathBuf> {
        match self {
            Self::Parse | Self::Validate => Vec::new(),
            Self::Few => vec![corpus.few.path.clone()],
            Self::Many => vec![corpus.many.path.clone()],
            Self::Fresh | Self::Shared | Self::Load | Self::Kernels => {
                corpus.objects.iter().map(|o| o.path.clone()).collect()
            }
        }
    }

    /// Prepares the job for one peer.
    pub fn prepare(self, peer: Peer, target: &Path, objects: &[PathBuf]) -> Result<Ready, String> {
        Ok(Ready::new(self, peer.prepare(target, objects)?))
    }
}

/// A job that is ready to be measured.
pub struct Ready {
    job: Job,
    prepared: Box<dyn Prepared>,
}

impl Ready {
    /// Combines a job with a prepared peer.
    pub fn new(job: Job, prepared: Box<dyn Prepared>) -> Self {
        Self { job, prepared }
    }

    /// Runs the job once.
    pub fn run(&self) -> Result<(), String> {
        match self.job {
            Job::Parse => self.prepared.parse_target(),
            Job::Validate => self.prepared.validate_target(),
            Job::Few | Job::Many | Job::Fresh => self.prepared.relocate(false),
            Job::Shared => self.prepared.relocate(true),
            Job::Load => self.prepared.load(),
            Job::Kernels => self.prepared.kernels(),
        }
    }
}
