//! The messages of the page: a line of JSON, and bytes.

use crate::request_error::RequestError;
use serde::{Deserialize, de::DeserializeOwned};

/// A request of the page.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Request {
    /// Returns the version of this crate and its limits.
    About,
    /// Adds an object, whose bytes follow. Returns its number and its requirements.
    Object {
        /// The name in reports.
        name: String,
    },
    /// Opens a kernel, whose parts follow.
    Kernel {
        /// The facts besides the parts.
        facts: Box<KernelFacts>,
        /// The kinds and sizes of the parts.
        parts: Vec<(Part, usize)>,
    },
    /// Adds the modules of the kernel. A pack of them follows: a line of JSON with an array of
    /// [`ModuleEntry`], and the BTF of each.
    Modules,
    /// Judges an object on the kernel.
    Check {
        /// The number of the object.
        object: usize,
        /// The word for the loader.
        loader: String,
    },
    /// Returns a report of the verdicts so far.
    Report,
}

/// A part of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// The BTF of vmlinux.
    Btf,
    /// The configuration.
    Kconfig,
    /// The symbols, in the form of `System.map`.
    Symbols,
    /// A pack of the modules that belong to the kernel whether an object needs them or not.
    GivenModules,
}

/// The facts about a kernel besides its parts, as `kernels.json` of the page has them.
#[derive(Clone, Debug, Default, Deserialize)]
#[non_exhaustive]
pub struct KernelFacts {
    /// The name.
    pub name: String,
    /// The architecture, as `uname -m` prints it.
    pub architecture: Option<String>,
    /// The version in labels, which may be that in the name.
    pub label_version: Option<String>,
    /// The version, if there is evidence for it.
    pub version: Option<String>,
    /// The place where the version was found.
    pub version_origin: Option<String>,
    /// The place where the configuration was found.
    pub kconfig_origin: Option<String>,
    /// The place where the symbols were found.
    pub symbols_origin: Option<String>,
    /// Facts that are there and cannot be read, and other warnings about the kernel.
    pub warnings: Vec<String>,
    /// Whether the page has modules of the kernel, which are read when an object needs them.
    pub has_modules: bool,
}

/// A module in a pack.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct ModuleEntry {
    /// The name.
    pub name: String,
    /// The number of bytes of its BTF.
    pub bytes: usize,
}

impl Request {
    /// Splits a message into the request and the bytes that belong to it.
    pub fn parse(message: &[u8]) -> Result<(Self, &[u8]), RequestError> {
        parse_line(message)
    }
}

/// Parses a pack of modules: a line of JSON with an array of [entries](ModuleEntry), and the BTF of each.
pub(crate) fn parse_pack(pack: &[u8]) -> Result<Vec<(ModuleEntry, &[u8])>, RequestError> {
    let (entries, payload): (Vec<ModuleEntry>, _) = parse_line(pack)?;
    let parts = split_parts(payload, entries.iter().map(|entry| entry.bytes))?;
    Ok(entries.into_iter().zip(parts).collect())
}

/// Parses the first line as JSON, and returns the bytes behind it.
fn parse_line<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), RequestError> {
    let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
    let (line, payload) = (lines.next().unwrap_or(&[]), lines.next().unwrap_or(&[]));
    let parsed = serde_json::from_slice(line);
    let value = parsed.map_err(|error| RequestError::Message(error.to_string().into()))?;
    Ok((value, payload))
}

/// Splits bytes into parts of these sizes, which are all of the bytes.
pub(crate) fn split_parts(
    payload: &[u8],
    sizes: impl Iterator<Item = usize> + Clone,
) -> Result<Vec<&[u8]>, RequestError> {
    let wrong_size = || {
        let expected = sizes.clone().fold(0usize, usize::wrapping_add);
        RequestError::Parts { found: payload.len(), expected }
    };
    let (mut parts, mut rest) = (Vec::new(), payload);
    for size in sizes.clone() {
        let (part, behind) = rest.split_at_checked(size).ok_or_else(wrong_size)?;
        parts.push(part);
        rest = behind;
    }
    if rest.is_empty() { Ok(parts) } else { Err(wrong_size()) }
}
