//! The specifications of kernels and the mirrors of a project: from options, or from `core-relo.toml`.

use crate::{
    error::BadInput,
    input::fetched_args::{FetchMode, MirrorArgs},
    policy::{Config, ConfigArgs, KernelList},
};
use core_relo_kernels::fetch::{
    Architecture, Distribution, FetchError, FetchOptions, Fetcher, KernelSpec, Mirrors, NoProgress,
    SpecError, Store, StoredKernel, lock_path,
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

    /// Returns the given specifications, or those of the project. With the network, the error of an unknown
    /// release has the releases of the mirror.
    pub(crate) fn specs(&self, given: &[String], mode: FetchMode) -> Result<Vec<KernelSpec>, BadInput> {
        let texts = if given.is_empty() { &self.list.specs } else { given };
        if texts.is_empty() {
            let bad =
                BadInput::new("kernels", "no specification is given, and no core-relo.toml has [kernels]");
            return Err(bad.help("expected a specification such as debian:12"));
        }
        let parse = |text: &String| {
            text.parse().map_err(|error| {
                let has = if mode == FetchMode::Online { self.releases_on_mirror(&error) } else { None };
                let bad = BadInput::new("kernels", error);
                match has {
                    Some(releases) => bad.help(format!("the mirror has {releases}")),
                    None => bad,
                }
            })
        };
        texts.iter().map(parse).collect()
    }

    /// Returns the known releases that a mirror has, for the error of an unknown one.
    fn releases_on_mirror(&self, error: &SpecError) -> Option<String> {
        let SpecError::UnknownRelease { distribution, .. } = error else { return None };
        let (distribution, store) = (Distribution::from_name(distribution)?, Store::of_user().ok()?);
        let fetcher = Fetcher::new(&self.mirrors, &store, FetchOptions::default(), &NoProgress);
        let releases = fetcher.releases_on_mirror(distribution, Architecture::of_host()?);
        (!releases.is_empty()).then(|| releases.join(", "))
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

/// Returns the kernels in the store that specifications describe, or all.
pub(crate) fn stored_kernels(store: &Store, specs: &[String]) -> Result<Vec<StoredKernel>, BadInput> {
    if specs.is_empty() {
        return Ok(store.kernels()?);
    }
    let mut kernels: Vec<StoredKernel> = Vec::new();
    for spec in specs {
        let spec: KernelSpec = spec.parse().map_err(|error| BadInput::new("kernels", error))?;
        for kernel in store.matching(&spec)? {
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
