//! Random inputs: mutations of files, and bytes for generators.

/// A generator of random numbers (xorshift64*).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed, which is not 0.
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// Returns the next random number.
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `n`, or 0 if `n` is 0.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Returns bytes for a generator. Most inputs are short, and some end early.
    pub fn decisions(&mut self) -> Vec<u8> {
        let most = [64, 512, 4096][self.below(3)];
        (0..self.below(most)).map(|_| self.next() as u8).collect()
    }

    /// Returns one of the files, changed in a few places.
    pub fn mutate(&mut self, files: &[Vec<u8>]) -> Vec<u8> {
        let mut input = files[self.below(files.len())].clone();
        for _ in 0..=self.below(4) {
            if input.is_empty() {
                break;
            }
            let at = self.below(input.len());
            match self.below(6) {
                0 => input[at] ^= 1 << self.below(8),
                1 => input[at] = self.next() as u8,
                2 => input[at] = [0, 0xff, 0x7f, 0x80][self.below(4)],
                3 => input.truncate(at),
                4 => {
                    // Replace an aligned word: an id, an offset or a length.
                    let word = [0u32, 1, u32::MAX, 0x7fff_ffff, self.next() as u32 & 0xff][self.below(5)];
                    let aligned = at & !3;
                    if let Some(place) = input.get_mut(aligned..aligned + 4) {
                        place.copy_from_slice(&word.to_le_bytes());
                    }
                }
                _ => {
                    let other = &files[self.below(files.len())];
                    let from = self.below(other.len());
                    let len = self.below(other.len() - from + 1).min(64);
                    let end = (at + len).min(input.len());
                    input.splice(at..end, other[from..from + len].iter().copied());
                }
            }
        }
        input
    }
}
