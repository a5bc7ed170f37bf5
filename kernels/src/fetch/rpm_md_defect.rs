//! Defects of rpm-md repositories.

use thiserror::Error;

/// The defect of a file of an rpm-md repository.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RpmMdDefect {
    /// A list is no XML, or not that of a repository.
    #[error("byte {offset}: {problem}, expected the XML of an rpm-md repository")]
    Xml {
        /// The offset of the defect in the unpacked list.
        offset: u64,
        /// The problem.
        problem: String,
    },
    /// The index does not have the list of packages in a form that is read.
    #[error(
        "has no list of packages in XML (`primary`), only: {}\n\
         help: createrepo_c writes it, also beside those for SQLite; or give another mirror with --mirror",
        found.join(", ")
    )]
    NoPrimary {
        /// The lists in the index.
        found: Vec<String>,
    },
    /// A list or a package has no hash that protects it.
    #[error("`{name}` has a hash of the type `{found}`, expected sha256 or sha512")]
    HashType {
        /// The list or package.
        name: String,
        /// The type of the hash, or nothing.
        found: String,
    },
    /// The list has more packages of kernels than are read.
    #[error("has more than {limit} packages of kernels")]
    TooManyPackages {
        /// The limit.
        limit: usize,
    },
    /// A path in the index leaves the mirror.
    #[error("the path `{path}` leaves the mirror")]
    UnsafePath {
        /// The path.
        path: String,
    },
    /// A file of addresses has none.
    #[error("has no address, expected that of a repository in the first line")]
    NoAddress,
}

core_relo::debug_as_message!(RpmMdDefect);
