//! The reasons why an archive cannot be used.

use crate::{internal::InternalError, target::TargetError};
use core_relo::{Text, btf::BtfError};
use thiserror::Error;

/// The reason why an archive cannot be read, or has no BTF for a kernel.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The data is not gzip, is cut short, or has a wrong checksum.
    #[error("BTF archive: not a complete gzip stream: {problem}")]
    Gzip {
        /// The problem that the decompressor reports.
        problem: Text,
    },
    /// The archive has more unpacked bytes than [`ARCHIVE_BYTES`](crate::limits::ARCHIVE_BYTES).
    #[error("BTF archive: unpacks to more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// A member is larger than its limit.
    #[error("BTF archive: member `{name}` has {bytes} bytes, expected at most {limit}")]
    MemberTooLarge {
        /// The member.
        name: Text,
        /// Its size in bytes.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The archive has more members than [`ARCHIVE_MEMBERS`](crate::limits::ARCHIVE_MEMBERS).
    #[error("BTF archive: more than {limit} members")]
    TooManyMembers {
        /// The limit.
        limit: usize,
    },
    /// A tar header is damaged.
    #[error("BTF archive: tar header at offset {offset}: {problem}")]
    Header {
        /// The offset in the unpacked archive.
        offset: u64,
        /// The problem.
        problem: &'static str,
    },
    /// The tar archive ends within a member, or without its end mark.
    #[error("BTF archive: ends at offset {offset}, within the tar archive")]
    Truncated {
        /// The offset in the unpacked archive.
        offset: u64,
    },
    /// Two members have the same name.
    #[error("BTF archive: member `{name}` exists twice")]
    DuplicateMember {
        /// The name.
        name: Text,
    },
    /// The name of a member is absolute, or leads out of the directory to which the archive is unpacked.
    #[error("BTF archive: member `{name}`: expected a relative path without `..`")]
    MemberName {
        /// The name.
        name: Text,
    },
    /// The first member is not the index.
    #[error("BTF archive: the first member is not `index.tsv`")]
    NoIndex,
    /// A line of the index is damaged.
    #[error("BTF archive: `index.tsv`, line {line}: {problem}")]
    Index {
        /// The line, from 1.
        line: usize,
        /// The problem.
        problem: &'static str,
    },
    /// The index names a member that does not exist.
    #[error("BTF archive: member `{name}` of the index does not exist")]
    MissingMember {
        /// The name.
        name: Text,
    },
    /// The BTF of an entry is damaged.
    #[error("BTF archive: `{name}`: {cause}")]
    Btf {
        /// The entry.
        name: Text,
        /// The problem.
        #[source]
        cause: BtfError,
    },
    /// The running kernel's own BTF, or its release, cannot be read.
    #[error(transparent)]
    Kernel(#[from] TargetError),
    /// No kernel of the archive is the running kernel.
    #[error("BTF archive: no BTF for kernel {kernel} among {count} kernels")]
    NoMatch {
        /// The kernel.
        kernel: Text,
        /// The number of kernels in the archive.
        count: usize,
    },
    /// Several kernels of the archive match equally well, and their BTF differs.
    #[error("BTF archive: kernel {kernel} is ambiguous: `{first}` and `{other}` match equally well")]
    Ambiguous {
        /// The kernel.
        kernel: Text,
        /// A member that matches.
        first: Text,
        /// Another member that matches.
        other: Text,
    },
    /// A broken invariant of this crate: a bug, whatever the input.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

core_relo::debug_as_message!(ArchiveError);
