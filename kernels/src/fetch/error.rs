//! Errors of fetches.

use super::{
    address::Address, address::AddressError, hash::algorithm, rpm_md_defect::RpmMdDefect, spec::SpecError,
};
use crate::error::{InputError, IoFailure, escape_path};
use core_relo_dwarf::EncodeError;
use std::{io::ErrorKind, path::PathBuf};
use thiserror::Error;

/// The error of a fetch.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A text specifies no kernels, or selects none.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A text is no address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The distribution has no mirror.
    #[error(
        "no mirror of {distribution}: the machine's apt configuration names none, expected an address\n\
         help: give --mirror {distribution}=http://HOST/PATH, or set it in [mirrors] of core-relo.toml"
    )]
    NoMirror {
        /// The distribution, or one of its archives: `debian`, `debian-security`.
        distribution: String,
    },
    /// A file of a mirror cannot be read.
    #[error("{address}: {defect}")]
    Mirror {
        /// The address of the file.
        address: Address,
        /// The defect.
        defect: MirrorDefect,
    },
    /// The machine lacks the programs that verify signatures, or the keyring, and a signature is required.
    #[error(
        "{address}: the signature cannot be verified: {reason}\nhelp: give another mirror with --mirror, or accept it with --allow-unsigned"
    )]
    Unverified {
        /// The address of the index.
        address: Address,
        /// The reason.
        reason: String,
    },
    /// A file in the store cannot be read or written.
    #[error("{}: {failure}{}", escape_path(path), storage_help(failure))]
    Store {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        failure: IoFailure,
    },
    /// The store cannot be written.
    #[error(
        "{}: the store of kernels cannot be written: {failure}\n\
         help: --offline uses the kernels in it; XDG_CACHE_HOME moves the store, and --mirror \
         DISTRIBUTION=file://DIR takes kernels from this one",
        escape_path(path)
    )]
    ReadOnlyStore {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        failure: IoFailure,
    },
    /// A file in the store, or a lock file, is damaged.
    #[error("{}: {problem}\nhelp: {help}", escape_path(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
        /// The remedy.
        help: &'static str,
    },
    /// No directory for the store is known.
    #[error("no directory for kernels: neither XDG_CACHE_HOME nor HOME is an absolute path")]
    NoStore,
    /// A kernel is not in the store, and may not be fetched.
    #[error("{name}: is not in {}\nhelp: fetch it with `core-relo kernels fetch`", escape_path(store))]
    Offline {
        /// The kernel, or a specification that selects none in the store.
        name: String,
        /// The store.
        store: PathBuf,
    },
    /// The lock file does not have a specification, and may not change.
    #[error(
        "{}: has no kernels of {spec}\nhelp: run `core-relo kernels update`, or leave out --locked",
        escape_path(path)
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The specification.
        spec: String,
    },
    /// The kernel is older than the distribution's kernels with BTF.
    #[error(
        "{name}: has no BTF, {} MiB would be downloaded in vain: the distribution's kernels before {since} have none\n\
         help: choose another kernel",
        bytes.div_ceil(1 << 20)
    )]
    TooOld {
        /// The kernel.
        name: String,
        /// The bytes of its packages.
        bytes: u64,
        /// The version of Linux before which no kernel has BTF.
        since: &'static str,
    },
    /// A package has no kernel.
    #[error("{name}: {}", error.what())]
    Package {
        /// The name of the package.
        name: String,
        /// The error.
        error: Box<InputError>,
    },
    /// The image of a kernel has no BTF.
    #[error("{name}: the kernel has no BTF{}", debug_package_text(debug_package.as_ref()))]
    NoBtf {
        /// The kernel.
        name: String,
        /// The package with the kernel's debug information and its size in bytes, if there is one.
        debug_package: Option<(String, u64)>,
    },
    /// The debug information in a package cannot be converted.
    #[error("{name}: no BTF from its debug information: {error}")]
    DebugInfo {
        /// The name of the package.
        name: String,
        /// The error.
        error: Box<EncodeError>,
    },
    /// No package of the kernel has a module.
    #[error("{name}: no module {} in its packages", modules.join(", "))]
    NoModules {
        /// The kernel.
        name: String,
        /// The modules.
        modules: Vec<String>,
    },
    /// No package of the kernel has its image.
    #[error("{name}: no image in {}, expected boot/vmlinuz-R or lib/modules/R/vmlinuz", packages.join(", "))]
    NoImage {
        /// The kernel.
        name: String,
        /// The packages.
        packages: Vec<String>,
    },
}

core_relo::debug_as_message!(FetchError);

impl FetchError {
    /// Returns the message without the remedy, and the remedy.
    pub fn parts(&self) -> (String, Option<String>) {
        let text = self.to_string();
        match text.split_once("\nhelp: ") {
            Some((message, help)) => (message.to_owned(), Some(help.to_owned())),
            None => (text, None),
        }
    }

    /// Creates the error of a file in the store.
    pub(crate) fn store(path: impl Into<PathBuf>, error: &std::io::Error) -> Self {
        Self::Store { path: path.into(), failure: error.into() }
    }

    /// Creates the error of a file in the store that is to be written.
    pub(crate) fn unwritable(path: impl Into<PathBuf>, error: &std::io::Error) -> Self {
        let path = path.into();
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnlyStore { path, failure: error.into() }
            }
            _ => Self::store(path, error),
        }
    }

    /// Creates the error of a file of a mirror.
    pub(crate) fn mirror(address: &Address, defect: MirrorDefect) -> Self {
        Self::Mirror { address: address.clone(), defect }
    }

    /// Returns whether the mirror does not have the file.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Mirror { defect: MirrorDefect::Status { code: 404 } | MirrorDefect::NoFile, .. })
    }

    /// Returns whether the mirror refuses to send the file.
    pub(crate) const fn is_forbidden(&self) -> bool {
        matches!(self, Self::Mirror { defect: MirrorDefect::Status { code: 403 }, .. })
    }
}

/// The defect of a file on a mirror.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MirrorDefect {
    /// The server answers with an error.
    #[error("the server answers {code}, expected 200{}", status_help(*code))]
    Status {
        /// The status.
        code: u16,
    },
    /// The server has too many requests, and asks for a pause.
    #[error("the server answers {code}\nhelp: try again in {}, or another mirror with --mirror", duration(*seconds))]
    Busy {
        /// The status.
        code: u16,
        /// The pause (`Retry-After`), in seconds.
        seconds: u64,
    },
    /// The local mirror does not have the file.
    #[error("no such file")]
    NoFile,
    /// The server cannot be reached, or the connection fails, also after retries.
    #[error(
        "{message}\nhelp: check the address and the proxy, or use --offline for kernels that were fetched before"
    )]
    Connection {
        /// The error of the last try.
        message: String,
    },
    /// This build or processor has no TLS.
    #[error(
        "https is not available: {reason}\nhelp: give a mirror with http: or file:, signatures protect it"
    )]
    NoTls {
        /// The reason.
        reason: &'static str,
    },
    /// The file ends early, also after retries.
    #[error("ends after {bytes} bytes, expected {expected}")]
    Short {
        /// The bytes.
        bytes: u64,
        /// The expected bytes.
        expected: u64,
    },
    /// The server sends next to nothing.
    #[error(
        "only {bytes} bytes in {seconds} seconds\nhelp: try again later, or another mirror with --mirror"
    )]
    Slow {
        /// The bytes that have arrived.
        bytes: u64,
        /// The time of waiting for them.
        seconds: u64,
    },
    /// The file has more bytes than the index says.
    #[error("has more than {expected} bytes, the size in the index")]
    Long {
        /// The expected bytes.
        expected: u64,
    },
    /// The file is longer than the largest one that is read.
    #[error("has more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The file differs from the one in the index.
    #[error(
        "{} {found}, expected {expected} from the index\nhelp: the mirror is inconsistent or the file was changed; try again later, or another mirror",
        algorithm(expected)
    )]
    Hash {
        /// The hash of the file.
        found: String,
        /// The hash in the index.
        expected: String,
    },
    /// The metadata of a package differ from those in the index.
    #[error(
        "the metadata have the hash {found}, expected {expected} from the index\nhelp: the mirror is inconsistent or the file was changed; try again later, or another mirror"
    )]
    Metadata {
        /// The hash of the metadata.
        found: String,
        /// The hash in the index.
        expected: String,
    },
    /// The signature is wrong.
    #[error(
        "the signature is not valid: {message}\nhelp: do not use this mirror; --mirror gives another one"
    )]
    Signature {
        /// The words of the program that verifies signatures.
        message: String,
    },
    /// The index may no longer be used.
    #[error(
        "expired {} ago\nhelp: the mirror is out of date, or this machine's clock is wrong; give another one with --mirror, or accept it with --allow-expired",
        duration(*seconds)
    )]
    Expired {
        /// The seconds since the end of its validity.
        seconds: u64,
    },
    /// The index is older than the one that was read before.
    #[error(
        "is {} older than the index that was read from here before\nhelp: the mirror is out of date, or somebody replays an old index; give another one with --mirror, or accept it with --allow-expired",
        duration(*seconds)
    )]
    Older {
        /// The time between the two, in seconds.
        seconds: u64,
    },
    /// The mirror does not have the release.
    #[error("the mirror does not have {release}{}", available_list(available))]
    NoRelease {
        /// The release.
        release: String,
        /// The releases that the mirror has.
        available: Vec<String>,
    },
    /// The index is that of another suite.
    #[error("is the index of {}, expected {expected}", found.join(", "))]
    OtherSuite {
        /// The names in the index.
        found: Vec<String>,
        /// The suite.
        expected: String,
    },
    /// The index has no hashes, or no readable date until which it is valid.
    #[error("is no index of a repository: it has no SHA256 sums, or a Valid-Until that is no date")]
    NoIndex,
    /// The index has no list of packages for an architecture.
    #[error("has no packages for {architecture}")]
    NoArchitecture {
        /// The architecture.
        architecture: String,
    },
    /// The index has more kernels than are read.
    #[error("has more than {limit} kernels")]
    TooManyKernels {
        /// The limit.
        limit: usize,
    },
    /// A file of an rpm-md repository is damaged.
    #[error(transparent)]
    RpmMd(#[from] RpmMdDefect),
    /// A compressed list is damaged.
    #[error("cannot be unpacked: {0}")]
    Packed(IoFailure),
}

core_relo::debug_as_message!(MirrorDefect);

fn available_list(releases: &[String]) -> String {
    match releases {
        [] => "\nhelp: check the address".to_owned(),
        releases => format!("; it has {}", releases.join(", ")),
    }
}

fn debug_package_text(package: Option<&(String, u64)>) -> String {
    match package {
        Some((name, bytes)) => format!(
            "; its debug information is in {name}, {} MiB\n\
             help: --from-debuginfo downloads the package and makes BTF from it",
            bytes.div_ceil(1 << 20)
        ),
        None => "; no package with its debug information is known\nhelp: choose another kernel".to_owned(),
    }
}

fn storage_help(failure: &IoFailure) -> &'static str {
    match failure.kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "\nhelp: free some space; XDG_CACHE_HOME moves the store"
        }
        _ => "",
    }
}

/// Returns a time in words: `22 days`.
fn duration(seconds: u64) -> String {
    let (count, unit) = match seconds {
        172_800.. => (seconds.div_euclid(86_400), "days"),
        7200.. => (seconds.div_euclid(3600), "hours"),
        _ => (seconds, "seconds"),
    };
    format!("{count} {unit}")
}

const fn status_help(code: u16) -> &'static str {
    match code {
        404 | 410 => {
            "\nhelp: the mirror may be changing at this moment; try again, or another mirror with --mirror"
        }
        407 => "\nhelp: the proxy asks for a user and a password: http_proxy=http://USER:PASSWORD@HOST:PORT",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_times_that_a_person_reads() {
        assert_eq!(duration(59), "59 seconds");
        assert_eq!(duration(7200), "2 hours");
        assert_eq!(duration(1_959_559), "22 days");
    }

    #[test]
    fn a_full_disk_has_a_remedy() {
        let full = std::io::Error::from(ErrorKind::StorageFull);
        let (message, help) = FetchError::store("/cache/x", &full).parts();
        assert!(message.starts_with("/cache/x: "), "{message}");
        assert_eq!(help.as_deref(), Some("free some space; XDG_CACHE_HOME moves the store"));
    }
}
