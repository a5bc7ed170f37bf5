//! Circular ranges of 64-bit numbers.

/// The largest 32-bit number.
pub(super) const U32: u64 = 0xffff_ffff;

/// The smallest signed number, as a pattern.
pub(super) const SIGN: u64 = 1 << 63;

/// A range from `lo` upwards to `hi`, both included. The range continues at zero after the largest number if
/// `hi` is below `lo`.
///
/// Unsigned and signed ranges are both circular ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) lo: u64,
    pub(super) hi: u64,
}

impl Interval {
    /// All numbers.
    pub(super) const FULL: Self = Self { lo: 0, hi: u64::MAX };

    /// Returns the range between two numbers.
    pub(super) const fn new(lo: u64, hi: u64) -> Self {
        if hi.wrapping_add(1) == lo { Self::FULL } else { Self { lo, hi } }
    }

    /// Returns the range of one number.
    pub(super) const fn single(number: u64) -> Self {
        Self { lo: number, hi: number }
    }

    /// Returns the numbers of a width in bytes.
    pub(super) const fn width(bytes: u32) -> Self {
        Self { lo: 0, hi: width_mask(bytes) }
    }

    /// Returns the count of numbers, minus one.
    pub(super) const fn span(self) -> u64 {
        self.hi.wrapping_sub(self.lo)
    }

    /// Returns the number of a range of one.
    pub(super) fn as_single(self) -> Option<u64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    pub(super) const fn contains(self, number: u64) -> bool {
        number.wrapping_sub(self.lo) <= self.span()
    }

    pub(super) const fn contains_all(self, other: Self) -> bool {
        if self.span() == u64::MAX {
            return true;
        }
        let start = other.lo.wrapping_sub(self.lo);
        match self.span().checked_sub(start) {
            Some(rest) => other.span() <= rest,
            None => false,
        }
    }

    /// Returns whether the range does not pass the largest unsigned number.
    pub(super) const fn is_unsigned(self) -> bool {
        self.lo <= self.hi
    }

    /// Returns whether all numbers of the range fit into 32 bits.
    pub(super) const fn is_32bit(self) -> bool {
        self.is_unsigned() && self.hi <= U32
    }

    /// Returns whether the range does not pass the largest signed number.
    pub(super) const fn is_signed(self) -> bool {
        self.lo ^ SIGN <= self.hi ^ SIGN
    }

    /// Returns the smallest and largest unsigned number.
    pub(super) const fn unsigned(self) -> (u64, u64) {
        if self.is_unsigned() { (self.lo, self.hi) } else { (0, u64::MAX) }
    }

    /// Returns the smallest and largest signed number.
    pub(super) const fn signed(self) -> (i64, i64) {
        if self.is_signed() { (self.lo.cast_signed(), self.hi.cast_signed()) } else { (i64::MIN, i64::MAX) }
    }

    /// Returns a range that contains both ranges.
    pub(super) fn hull(self, other: Self) -> Self {
        let candidates =
            [self, other, Self::new(self.lo, other.hi), Self::new(other.lo, self.hi)].into_iter();
        let containing = candidates.filter(|range| range.contains_all(self) && range.contains_all(other));
        containing.min_by_key(|range| range.span()).unwrap_or(Self::FULL)
    }

    /// Returns the parts that two ranges share: none, one or two.
    pub(super) fn intersection(self, other: Self) -> [Option<Self>; 2] {
        if self.contains_all(other) {
            return [Some(other), None];
        }
        if other.contains_all(self) {
            return [Some(self), None];
        }
        let upper = self.contains(other.lo).then(|| Self::new(other.lo, self.hi));
        let lower = self.contains(other.hi).then(|| Self::new(self.lo, other.hi));
        [upper, lower]
    }

    /// Returns a range that contains all that two ranges share, or `None` if nothing.
    pub(super) fn intersection_hull(self, other: Self) -> Option<Self> {
        match self.intersection(other) {
            [Some(_), Some(_)] => Some(if self.span() <= other.span() { self } else { other }),
            [part, None] | [None, part] => part,
        }
    }

    /// Returns the largest range within both ranges, or `None` if they share nothing.
    pub(super) fn largest_intersection(self, other: Self) -> Option<Self> {
        self.intersection(other).into_iter().flatten().max_by_key(|part| part.span())
    }
}

/// Returns the mask of the numbers of a width in bytes.
pub(super) const fn width_mask(bytes: u32) -> u64 {
    match bytes {
        1 => 0xff,
        2 => 0xffff,
        4 => U32,
        _ => u64::MAX,
    }
}

/// Extends the sign of a number of a width in bits.
pub(super) const fn sign_extend(number: u64, bits: u32) -> u64 {
    let unused = 64_u32.saturating_sub(bits);
    number.wrapping_shl(unused).cast_signed().wrapping_shr(unused).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn range(lo: u64, hi: u64) -> Interval {
        Interval::new(lo, hi)
    }

    #[test]
    fn ranges_contain_numbers_and_ranges_across_zero() {
        let around = range(u64::MAX, 5);
        assert!(around.contains(0) && around.contains(u64::MAX) && !around.contains(6));
        assert!(around.contains_all(range(0, 5)) && !around.contains_all(range(5, 6)));
        assert!(Interval::FULL.contains_all(around) && !around.contains_all(Interval::FULL));
        assert_eq!(range(7, 6), Interval::FULL);
    }

    #[test]
    fn bounds_of_ranges_that_pass_the_largest_number_are_those_of_all_numbers() {
        let around = range(3_u64.wrapping_neg(), 5);
        assert_eq!(around.signed(), (-3, 5));
        assert_eq!(around.unsigned(), (0, u64::MAX));
        assert_eq!(range(1, SIGN).signed(), (i64::MIN, i64::MAX));
    }

    #[test]
    fn hulls_are_the_smallest_ranges() {
        assert_eq!(range(1, 2).hull(range(5, 9)), range(1, 9));
        assert_eq!(range(u64::MAX, u64::MAX).hull(range(0, 1)), range(u64::MAX, 1));
        assert_eq!(range(1, 9).hull(range(2, 3)), range(1, 9));
    }

    #[test]
    fn two_ranges_share_up_to_two_parts() {
        assert_eq!(range(1, 5).intersection(range(6, 9)), [None, None]);
        assert_eq!(range(1, 5).intersection_hull(range(4, 9)), Some(range(4, 5)));
        let (low, high) = (range(u64::MAX, 5), range(4, u64::MAX));
        assert_eq!(low.intersection(high), [Some(range(4, 5)), Some(range(u64::MAX, u64::MAX))]);
        assert_eq!(low.largest_intersection(high), Some(range(4, 5)));
        assert_eq!(low.intersection_hull(high), Some(low));
    }

    #[test]
    fn signs_are_extended() {
        assert_eq!(sign_extend(0xff, 8), u64::MAX);
        assert_eq!(sign_extend(0x7f, 8), 0x7f);
        assert_eq!(sign_extend(5, 64), 5);
    }
}
