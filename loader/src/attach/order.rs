//! Where among the programs at one place a program runs, for those families whose links say so: tcx, netkit, cgroups.

use super::{AttachError, Hint};
use crate::{
    object::AttachType,
    sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget},
};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

const BEFORE: u32 = 1 << 3;
const AFTER: u32 = 1 << 4;
const ID: u32 = 1 << 5;
const LINK: u32 = 1 << 13;

/// Where among the others.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Order<'a> {
    /// After all that are there.
    #[default]
    Last,
    /// Before all that are there.
    First,
    /// Just before one of them.
    Before(Neighbour<'a>),
    /// Just after one of them.
    After(Neighbour<'a>),
}

/// One that is attached already.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Neighbour<'a> {
    /// A program's descriptor.
    Prog(BorrowedFd<'a>),
    /// A program's id.
    ProgId(u32),
    /// A link's descriptor.
    Link(BorrowedFd<'a>),
    /// A link's id.
    LinkId(u32),
}

/// Where a program goes, and on what condition.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct Placement<'a> {
    /// Where among the others.
    pub order: Order<'a>,
    /// Only if nothing has changed since a query gave this revision; 0: in any case.
    pub expected_revision: u64,
}

impl Placement<'_> {
    /// The flags and the number that the kernel takes.
    fn raw(&self) -> (u32, LinkExtra<'static>) {
        let (side, neighbour) = match self.order {
            Order::Last => (0, None),
            Order::First => (BEFORE, None),
            Order::Before(neighbour) => (BEFORE, Some(neighbour)),
            Order::After(neighbour) => (AFTER, Some(neighbour)),
        };
        let number = |fd: BorrowedFd<'_>| fd.as_raw_fd().cast_unsigned();
        let (kind, relative) = match neighbour {
            None => (0, 0),
            Some(Neighbour::Prog(fd)) => (0, number(fd)),
            Some(Neighbour::ProgId(id)) => (ID, id),
            Some(Neighbour::Link(fd)) => (LINK, number(fd)),
            Some(Neighbour::LinkId(id)) => (LINK | ID, id),
        };
        (side | kind, LinkExtra::Relative { relative, expected_revision: self.expected_revision })
    }

    /// Makes a link there.
    pub(super) fn link(
        &self,
        prog: BorrowedFd<'_>,
        target: LinkTarget<'_>,
        attach_type: AttachType,
        more_flags: u32,
    ) -> Result<OwnedFd, Errno> {
        let (flags, extra) = self.raw();
        let attach_type = attach_type.number();
        sys::link_create(&LinkCreate { prog, target, attach_type, flags: flags | more_flags, extra })
    }
}

/// The error of a link that is not made at such a place; `unknown` says what the kernel may not know.
pub(super) fn not_placed(what: &str, errno: Errno, place: &Placement<'_>, unknown: Hint) -> AttachError {
    let hint = match errno.0 {
        libc::ESTALE => Hint("others were attached or detached since the revision expected: query again"),
        libc::ENOENT => match place.order {
            Order::Before(_) | Order::After(_) => Hint("the neighbour is not attached there"),
            Order::First | Order::Last => Hint("what it is to be attached to is gone"),
        },
        libc::ENODEV => Hint("is there such an interface in this network namespace?"),
        libc::EINVAL | libc::EOPNOTSUPP => unknown,
        _ => Hint::of(errno),
    };
    AttachError::Kernel { what: what.into(), action: "attach", errno, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_depends_on_what_was_asked_for() {
        let said = |order, errno| {
            let place = Placement { order, ..Placement::default() };
            not_placed("x", Errno(errno), &place, Hint("unknown")).to_string()
        };
        assert!(said(Order::Last, libc::ENOENT).ends_with("(what it is to be attached to is gone)"));
        let neighbour = said(Order::Before(Neighbour::ProgId(1)), libc::ENOENT);
        assert!(neighbour.ends_with("(the neighbour is not attached there)"), "{neighbour}");
        assert!(said(Order::First, libc::ENODEV).contains("is there such an interface"));
        assert!(said(Order::First, libc::EINVAL).ends_with("(unknown)"));
    }

    #[test]
    fn flags_and_numbers_of_all_orders() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let n = file.as_raw_fd().cast_unsigned();
        for (order, flags, relative) in [
            (Order::Last, 0, 0),
            (Order::First, 8, 0),
            (Order::Before(Neighbour::Prog(fd)), 8, n),
            (Order::After(Neighbour::ProgId(5)), 16 + 32, 5),
            (Order::Before(Neighbour::Link(fd)), 8 + 8192, n),
            (Order::After(Neighbour::LinkId(6)), 16 + 32 + 8192, 6),
        ] {
            let (f, extra) = Placement { order, expected_revision: 3 }.raw();
            assert_eq!(f, flags);
            let LinkExtra::Relative { relative: r, expected_revision: 3 } = extra else {
                panic!("{extra:?}")
            };
            assert_eq!(r, relative);
        }
    }
}
