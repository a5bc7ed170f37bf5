//! The sizes of data and contexts that the running kernel accepts in test runs, found with programs that do
//! nothing.
//!
//! The sizes depend on the program type, the kernel and the machine: kernels demand an Ethernet header of
//! packets, and put packets into a page beside structs of their own.

use core_relo::{Endian, insn::Insn};
use core_relo_loader::{
    Errno, inventory,
    load::{Kernel as _, ProgLoad, RunningKernel, TestRun},
    object::{AttachType, ProgramType},
};
use std::{
    fmt,
    os::fd::{AsFd as _, OwnedFd},
};

/// A size that every kernel accepts of every type that takes packets.
pub(super) const USUAL_BYTES: usize = 64;

/// The largest size that is tried. No kernel accepts more in one run: a packet has at most 17 fragments of a
/// page, which has up to 256 KiB.
pub(super) const MOST_BYTES: usize = 1 << 23;

/// `BPF_F_SLEEPABLE`.
const SLEEPABLE: u32 = 1 << 4;
/// `BPF_F_XDP_HAS_FRAGS`.
const XDP_HAS_FRAGS: u32 = 1 << 5;

/// The program whose test run the kernel refused.
#[derive(Clone, Copy, Debug)]
pub(in crate::cmd) struct RefusedRun {
    /// The number of the program type.
    pub(in crate::cmd) program_type: u32,
    /// The number of the expected attach type.
    pub(in crate::cmd) attach_type: u32,
    /// The flags of the program.
    pub(in crate::cmd) flags: u32,
    /// Whether the flags may include `BPF_F_XDP_HAS_FRAGS`.
    pub(in crate::cmd) may_have_frags: bool,
}

impl RefusedRun {
    /// Describes a program that is in the kernel. The kernel does not tell its attach type and flags, but
    /// some types demand one.
    pub(in crate::cmd) fn of_program_type(number: u32) -> Self {
        let program_type = ProgramType::from_number(number);
        let (attach_type, flags) = match program_type {
            Some(ProgramType::Netfilter) => (AttachType::Netfilter.number(), 0),
            Some(ProgramType::SkLookup) => (AttachType::SkLookup.number(), 0),
            Some(ProgramType::Syscall) => (0, SLEEPABLE),
            _ => (0, 0),
        };
        let may_have_frags = program_type == Some(ProgramType::Xdp);
        Self { program_type: number, attach_type, flags, may_have_frags }
    }

    /// Returns the same program with `BPF_F_XDP_HAS_FRAGS`, if it may have the flag.
    fn with_frags(self) -> Option<Self> {
        self.may_have_frags.then_some(Self {
            flags: self.flags | XDP_HAS_FRAGS,
            may_have_frags: false,
            ..self
        })
    }
}

/// The least and the largest size of data in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AcceptedSizes {
    least: usize,
    largest: usize,
    /// The largest size for a program with `BPF_F_XDP_HAS_FRAGS`, if the program may have the flag and the
    /// size is another one.
    largest_with_frags: Option<usize>,
}

impl fmt::Display for AcceptedSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.least, self.largest)?;
        match self.largest_with_frags {
            Some(largest) => write!(f, ", or to {largest} if the program has frags (section `xdp.frags`)"),
            None => Ok(()),
        }
    }
}

impl AcceptedSizes {
    /// Finds the sizes of data that the running kernel accepts for programs like a refused one. Returns
    /// `None` if the kernel runs no such program.
    pub(super) fn find(refused: RefusedRun) -> Option<Self> {
        let search = |program: RefusedRun| {
            let program = load_like(program).ok()?;
            Self::search(&|bytes| {
                let data = vec![0; bytes];
                inventory::test_run(program.as_fd(), &mut TestRun { data_in: &data, ..TestRun::default() })
                    .is_ok()
            })
        };
        let sizes = search(refused)?;
        let with_frags = refused.with_frags().and_then(search).map(|sizes| sizes.largest);
        Some(Self { largest_with_frags: with_frags.filter(|largest| *largest != sizes.largest), ..sizes })
    }

    /// Returns whether the kernel accepts a size, whatever the flags of the program are.
    pub(super) fn contains(&self, bytes: usize) -> bool {
        (self.least..=self.largest).contains(&bytes)
    }

    /// Returns whether the kernel accepts a size if the program has frags, which is not known.
    pub(super) fn contains_with_frags(&self, bytes: usize) -> bool {
        self.largest_with_frags.is_some_and(|largest| (self.least..=largest).contains(&bytes))
    }

    /// Finds the largest context that the running kernel accepts for programs like a refused one. The least
    /// one depends on what a program reads. Returns `None` if the kernel runs no such program without a
    /// context.
    pub(super) fn find_largest_context(refused: RefusedRun) -> Option<usize> {
        let program = load_like(refused).ok()?;
        let accepts = |bytes| {
            let context = vec![0; bytes];
            inventory::test_run(program.as_fd(), &mut TestRun { ctx_in: &context, ..TestRun::default() })
                .is_ok()
        };
        smallest(0..MOST_BYTES, &|bytes| !accepts(bytes)).checked_sub(1)
    }

    /// Finds the sizes with a function that tells whether a size is accepted. Between the least and the
    /// largest one, every size is.
    fn search(accepts: &dyn Fn(usize) -> bool) -> Option<Self> {
        if !accepts(USUAL_BYTES) {
            return None;
        }
        let least = smallest(0..USUAL_BYTES, accepts);
        let beyond = smallest(USUAL_BYTES..MOST_BYTES, &|bytes| !accepts(bytes));
        Some(Self { least, largest: beyond.checked_sub(1)?, largest_with_frags: None })
    }
}

/// Returns the smallest number for which a condition holds, which holds for all larger ones and for the end
/// of the range.
pub(super) fn smallest(range: std::ops::Range<usize>, holds: &dyn Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle.saturating_add(1);
        }
    }
    low
}

/// Loads a program that returns 0, of the type of a refused one.
pub(super) fn load_like(refused: RefusedRun) -> Result<OwnedFd, Errno> {
    let return_0 = [Insn { code: 0xb7, ..Insn::default() }, Insn { code: 0x95, ..Insn::default() }];
    let insns: Vec<u8> = return_0.iter().flat_map(|insn| insn.encode(Endian::native())).collect();
    let load = ProgLoad {
        prog_type: refused.program_type,
        expected_attach_type: refused.attach_type,
        prog_flags: refused.flags,
        insns: &insns,
        license: b"GPL",
        ..ProgLoad::default()
    };
    RunningKernel.prog_load(&load, &mut [])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_largest_accepted_size_are_found() {
        let found = |least: usize, largest: usize| {
            AcceptedSizes::search(&|bytes| (least..=largest).contains(&bytes))
                .map(|sizes| (sizes.least, sizes.largest))
        };
        assert_eq!(found(14, 3520), Some((14, 3520)));
        assert_eq!(found(64, 64), Some((64, 64)));
        assert_eq!(found(0, MOST_BYTES), Some((0, MOST_BYTES - 1)));
        assert_eq!(found(65, 100), None);
    }
}
