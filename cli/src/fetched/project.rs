//! The specifications of kernels and the mirrors of a project: from options, or from `core-relo.toml`.

use crate::{
    args::kernels::MirrorArgs,
    error::BadInput,
    policy::{Config, ConfigArgs, KernelList},
};
use core_relo_kernels::fetch::{
    FetchError, FetchOptions, KernelSpec, Mirrors, Store, StoredKernel, lock_path,
};
use std::path::{Path, PathBuf};

/// The kernels that a project supports, and the mirrors.
#[derive(Debug)]
pub(crate) struct KernelProject {
    pub(crate) mirrors: Mirrors,
    config: Option<PathBuf>,
    list: KernelList,
}

impl MirrorArgs {
    /// Returns what is required of mirrors.
    pub(crate) fn options(&self) -> FetchOptions {
        FetchOptions::default().allow_expired(self.allow_expired).allow_unsigned(self.allow_unsigned)
    }
}

impl KernelProject {
    /// Reads the kernels and mirrors of a project. Mirrors of options take precedence.
    pub(crate) fn new(args: &ConfigArgs, mirror_options: &[String]) -> Result<Self, BadInput> {
        let config = args.path()?;
        let list = match &config {
            Some(path) => Config::read(path)?.kernels,
            None => KernelList::default(),
        };
        Self::from_list(config, list, mirror_options)
    }

    /// Reads the project of a configuration file that an option names.
    pub(crate) fn from_file(path: &Path, mirror_options: &[String]) -> Result<Self, BadInput> {
        Self::from_list(Some(path.to_path_buf()), Config::read(path)?.kernels, mirror_options)
    }

    fn from_list(
        config: Option<PathBuf>,
        list: KernelList,
        mirror_options: &[String],
    ) -> Result<Self, BadInput> {
        let mut mirrors = Mirrors::default();
        for entry in &list.mirrors {
            set_mirror(&mut mirrors, &entry.name, &entry.address)?;
        }
        for option in mirror_options {
            let expected = || BadInput::new("--mirror", format_args!("`{option}`: expected NAME=ADDRESS"));
            let (name, address) = option.split_once('=').ok_or_else(expected)?;
            set_mirror(&mut mirrors, name, address)?;
        }
        Ok(Self { mirrors, config, list })
    }

    /// Returns whether specifications are given, or the project has some.
    pub(crate) fn has_specs(&self, given: &[String]) -> bool {
        !given.is_empty() || !self.list.specs.is_empty()
    }

    /// Returns the given specifications, or those of the project.
    pub(crate) fn specs(&self, given: &[String]) -> Result<Vec<KernelSpec>, BadInput> {
        let texts = if given.is_empty() { &self.list.specs } else { given };
        if texts.is_empty() {
            let bad =
                BadInput::new("kernels", "no specification is given, and no core-relo.toml has [kernels]");
            return Err(bad.help("expected a specification such as debian:12"));
        }
        parse_specs(texts)
    }

    /// Returns the path of the lock file.
    pub(crate) fn lock_path(&self) -> PathBuf {
        lock_path(self.config.as_deref())
    }
}

fn set_mirror(mirrors: &mut Mirrors, name: &str, address: &str) -> Result<(), BadInput> {
    let names = Mirrors::names();
    if !names.iter().any(|known| known == name) {
        let bad = BadInput::new("mirror", format_args!("unknown name `{name}`"));
        return Err(bad.help(format!("expected {}", names.join(", "))));
    }
    let address = address.parse().map_err(|error| BadInput::new(format!("mirror of {name}"), error))?;
    mirrors.set(name.to_owned(), address);
    Ok(())
}

/// Parses specifications.
pub(crate) fn parse_specs(texts: &[String]) -> Result<Vec<KernelSpec>, BadInput> {
    texts.iter().map(|text| text.parse().map_err(|error| BadInput::new("kernels", error))).collect()
}

/// Returns the kernels in the store that specifications select, or all.
pub(crate) fn stored_kernels(store: &Store, specs: &[String]) -> Result<Vec<StoredKernel>, BadInput> {
    if specs.is_empty() {
        return Ok(store.kernels()?);
    }
    let mut kernels: Vec<StoredKernel> = Vec::new();
    for spec in parse_specs(specs)? {
        for kernel in store.select(&spec)? {
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
    }
    Ok(kernels)
}

impl From<FetchError> for BadInput {
    fn from(error: FetchError) -> Self {
        let (message, help) = error.parts();
        let bad = match message.split_once(": ") {
            // The message begins with an address, a file or a kernel.
            Some((place, what)) if !matches!(error, FetchError::Spec(_)) => Self::new(place, what),
            _ => Self::new("kernels", message),
        };
        match help {
            Some(help) => bad.help(help),
            None => bad,
        }
    }
}
