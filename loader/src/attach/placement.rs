//! The position of a program among the programs at one attach point. Links of tcx, netkit and cgroups take a
//! position.

use super::error::{AttachError, Hint};
use crate::sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget};
use core_relo_object::object::AttachType;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

/// `BPF_F_BEFORE`.
const BEFORE: u32 = 1 << 3;
/// `BPF_F_AFTER`.
const AFTER: u32 = 1 << 4;
/// `BPF_F_ID`.
const ID: u32 = 1 << 5;
/// `BPF_F_LINK`.
const LINK: u32 = 1 << 13;

/// A position among the programs at an attach point.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Order<'a> {
    /// After all others.
    #[default]
    Last,
    /// Before all others.
    First,
    /// Directly before the anchor.
    Before(Anchor<'a>),
    /// Directly after the anchor.
    After(Anchor<'a>),
}

/// An attached program that a position is relative to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Anchor<'a> {
    /// The program's descriptor.
    Prog(BorrowedFd<'a>),
    /// The program's id.
    ProgId(u32),
    /// The link's descriptor.
    Link(BorrowedFd<'a>),
    /// The link's id.
    LinkId(u32),
}

/// A position, and the revision of the attach point that it is meant for.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct Placement<'a> {
    /// The position.
    pub order: Order<'a>,
    /// The revision that a query returned. Attaching fails if the attach point has changed since. 0 accepts
    /// every revision.
    pub expected_revision: u64,
}

impl Placement<'_> {
    /// Returns the kernel's flags and the link's extra arguments.
    fn to_link_args(self) -> (u32, LinkExtra<'static>) {
        let (side, anchor) = match self.order {
            Order::Last => (0, None),
            Order::First => (BEFORE, None),
            Order::Before(anchor) => (BEFORE, Some(anchor)),
            Order::After(anchor) => (AFTER, Some(anchor)),
        };
        let number = |fd: BorrowedFd<'_>| fd.as_raw_fd().cast_unsigned();
        let (kind, relative) = match anchor {
            None => (0, 0),
            Some(Anchor::Prog(fd)) => (0, number(fd)),
            Some(Anchor::ProgId(id)) => (ID, id),
            Some(Anchor::Link(fd)) => (LINK, number(fd)),
            Some(Anchor::LinkId(id)) => (LINK | ID, id),
        };
        (side | kind, LinkExtra::Relative { relative, expected_revision: self.expected_revision })
    }

    /// Creates a link at this position.
    pub(super) fn create_link(
        &self,
        prog: BorrowedFd<'_>,
        target: LinkTarget<'_>,
        attach_type: AttachType,
        more_flags: u32,
    ) -> Result<OwnedFd, Errno> {
        let (flags, extra) = self.to_link_args();
        let attach_type = attach_type.number();
        sys::link_create(&LinkCreate { prog, target, attach_type, flags: flags | more_flags, extra })
    }
}

/// Creates the error of a link that the kernel refused. `unsupported` is the hint for requests that the
/// kernel does not know.
pub(super) fn placement_error(
    label: &str,
    errno: Errno,
    placement: &Placement<'_>,
    unsupported: Hint,
) -> AttachError {
    let hint = match errno.0 {
        libc::ESTALE => Hint("programs were attached or detached since the expected revision: query again"),
        libc::ENOENT => match placement.order {
            Order::Before(_) | Order::After(_) => Hint("the anchor is not attached there"),
            Order::First | Order::Last => Hint("the attach target is gone"),
        },
        libc::ENODEV => Hint("is there such an interface in this network namespace?"),
        libc::EINVAL | libc::EOPNOTSUPP => unsupported,
        _ => Hint::for_errno(errno),
    };
    AttachError::Kernel { label: label.into(), action: "attach", errno, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_depend_on_the_order() {
        let text = |order, errno| {
            let placement = Placement { order, ..Placement::default() };
            placement_error("x", Errno(errno), &placement, Hint("unsupported")).to_string()
        };
        assert!(text(Order::Last, libc::ENOENT).ends_with("(the attach target is gone)"));
        let anchor = text(Order::Before(Anchor::ProgId(1)), libc::ENOENT);
        assert!(anchor.ends_with("(the anchor is not attached there)"), "{anchor}");
        assert!(text(Order::First, libc::ENODEV).contains("is there such an interface"));
        assert!(text(Order::First, libc::EINVAL).ends_with("(unsupported)"));
    }

    #[test]
    fn every_order_has_its_flags_and_relative_fd_or_id() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let n = file.as_raw_fd().cast_unsigned();
        for (order, flags, relative) in [
            (Order::Last, 0, 0),
            (Order::First, 8, 0),
            (Order::Before(Anchor::Prog(fd)), 8, n),
            (Order::After(Anchor::ProgId(5)), 16 + 32, 5),
            (Order::Before(Anchor::Link(fd)), 8 + 8192, n),
            (Order::After(Anchor::LinkId(6)), 16 + 32 + 8192, 6),
        ] {
            let (f, extra) = Placement { order, expected_revision: 3 }.to_link_args();
            assert_eq!(f, flags);
            let LinkExtra::Relative { relative: r, expected_revision: 3 } = extra else {
                panic!("{extra:?}")
            };
            assert_eq!(r, relative);
        }
    }
}
