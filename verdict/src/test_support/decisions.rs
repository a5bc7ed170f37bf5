//! Decisions of the generator, and inputs of runs.

/// The decisions of a generator: the bytes of a fuzzer, or random bytes. Zeros follow the last byte.
#[derive(Debug)]
pub(super) struct Decisions<'d> {
    bytes: core::slice::Iter<'d, u8>,
}

impl<'d> Decisions<'d> {
    pub(super) fn new(bytes: &'d [u8]) -> Self {
        Self { bytes: bytes.iter() }
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    /// Returns a number below `count`, which is not 0.
    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    pub(super) fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        let number = self.below(choices.len());
        *choices.get(number).unwrap_or_else(|| panic!("no choice {number}"))
    }

    pub(super) fn word(&mut self) -> i32 {
        (0..4).fold(0, |word, _| (word << 8) | i32::from(self.byte()))
    }
}

/// The inputs of a run, from a seed.
#[derive(Debug)]
pub(super) struct Inputs {
    state: u64,
    /// Numbers at which the program's branches may change direction.
    constants: Vec<u64>,
}

impl Inputs {
    pub(super) fn new(seed: u64, constants: Vec<u64>) -> Self {
        Self { state: seed.wrapping_mul(2).wrapping_add(1), constants }
    }

    /// Returns the next random number (xorshift64*).
    pub(super) fn random(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number: random, small, or near a constant of the program.
    pub(super) fn number(&mut self) -> u64 {
        let random = self.random();
        match random >> 61 {
            0 => random,
            1 => random & 0xffff_ffff,
            2 | 3 => random & 0xff,
            4 => random & 1,
            _ => {
                let count = u64::try_from(self.constants.len()).unwrap_or(0).max(1);
                let number = usize::try_from(random % count).unwrap_or(0);
                let near = self.constants.get(number).copied().unwrap_or(0);
                near.wrapping_add((random >> 32) % 3).wrapping_sub(1)
            }
        }
    }
}
