//! [`LastingError`]: a program that is not attached without a link, or not detached.

use super::AttachPointError;
use crate::attach::AttachError;

/// The reason why a program is not attached to a place without a link, or not detached.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LastingError {
    /// The kernel refused a request, or the target is invalid.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The attach point does not fit the program.
    #[error(transparent)]
    Unfit(#[from] AttachPointError),
    /// [`LastingOptions::sharing`](super::LastingOptions::sharing) is given for a place that is no cgroup.
    #[error("only cgroups share their programs")]
    NoSharing,
    /// [`LastingOptions::replace`](super::LastingOptions::replace) is set for a place that may have several
    /// programs.
    #[error("this place may have several programs, so that none is replaced")]
    NotReplaceable,
    /// Another program is attached, which the kernel would replace.
    #[error("program {prog_id} is attached there")]
    Occupied {
        /// The other program.
        prog_id: u32,
    },
    /// The program is a classifier there already, and would run twice for each packet.
    #[error("program {prog_id} is attached there already, with priority {priority} and handle {handle:#x}")]
    AttachedTwice {
        /// The program.
        prog_id: u32,
        /// The priority of the filter.
        priority: u16,
        /// The handle of the filter.
        handle: u32,
    },
    /// Only links attach programs there.
    #[error("only a link attaches programs there")]
    NeedsLink,
    /// A program without a link can only be attached to the network namespace of this process.
    #[error("the network namespace is not that of this process")]
    OtherNetns,
    /// Programs are attached there by links, which are detached themselves.
    #[error("programs are attached there by links")]
    OnlyLinks,
    /// The program is not attached there.
    #[error("program {prog_id} is not attached there")]
    NotAttached {
        /// The program.
        prog_id: u32,
    },
    /// A link attaches the program.
    #[error("{} attaches program {prog_id}", link.map_or_else(|| "a link".into(), |link| format!("link {link}")))]
    HeldByLink {
        /// The program.
        prog_id: u32,
        /// The link, if its id is known.
        link: Option<u32>,
    },
}

core_relo::debug_as_message!(LastingError);
