//! The effect of single instructions on sets of numbers, compared with the effect on each number.
//!
//! Bounds must contain all results. Possible values must be results, because a verifier may track each
//! number.

#![expect(clippy::arithmetic_side_effects, reason = "the arithmetic of a test does not overflow")]

use crate::reach::{
    Function, Program,
    branch::{Condition, Direction},
    interval::Interval,
    possible::Possible,
    scalar::Scalar,
    state::State,
    step::execute,
    value::Value,
};
use crate::test_support::{compute, holds};
use core_relo::Endian;
use core_relo::insn::Insn;
use hashbrown::HashSet;

/// The trials of each instruction.
const TRIALS: usize = 400;

/// A generator of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        let number = self.next() % u64::try_from(choices.len()).unwrap();
        choices[usize::try_from(number).unwrap()]
    }

    /// Returns a number near a limit of a width.
    fn number(&mut self) -> u64 {
        let limits =
            [0, 0, 0, 1 << 7, 1 << 8, 1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 33, 1 << 63, 0xabcd_1234_5678];
        let base: u64 = self.choose(&limits);
        base.wrapping_add(self.next() % 12).wrapping_sub(self.next() % 12)
    }

    /// Returns a small set, and bounds that contain the set.
    fn scalar(&mut self) -> (Scalar, Vec<u64>) {
        let lo = self.number();
        let (possible, members): (_, Vec<u64>) = match self.next() % 4 {
            0 => (Possible::single(lo), vec![lo]),
            1 => {
                let bits: Vec<u64> = (0..3).map(|_| 1 << (self.next() % 64)).collect();
                let mask = bits.iter().fold(0, |mask, bit| mask | bit);
                let subset = |number: usize| {
                    (0..3).filter(|bit| number >> bit & 1 != 0).fold(0, |set, bit| set | bits[bit])
                };
                let members: HashSet<u64> = (0..8).map(|number| (lo & !mask) | subset(number)).collect();
                (Possible::bits(lo, mask), members.into_iter().collect())
            }
            _ => {
                let span = self.next() % 20;
                let members = (0..=span).map(|distance| lo.wrapping_add(distance)).collect();
                (Possible::Range(Interval::new(lo, lo.wrapping_add(span))), members)
            }
        };
        let hull = members.iter().map(|number| Interval::single(*number)).reduce(Interval::hull).unwrap();
        let margin = self.choose(&[0, 0, 1, 5]);
        let bounds = match self.next() % 5 {
            0 => Interval::FULL,
            _ if margin == 0 || hull.span() > u64::MAX - 20 => hull,
            _ => Interval::new(hull.lo.wrapping_sub(margin), hull.hi.wrapping_add(margin)),
        };
        (Scalar::new(bounds, possible), members)
    }
}

/// Returns some members of a set.
fn members(possible: Possible, random: &mut Random) -> Vec<u64> {
    match possible {
        Possible::Unknown(_) => Vec::new(),
        Possible::Range(range) if range.span() < 64 => {
            (0..=range.span()).map(|distance| range.lo.wrapping_add(distance)).collect()
        }
        Possible::Range(range) => {
            let inside = |number: u64| range.lo.wrapping_add(number % range.span().saturating_add(1).max(1));
            [range.lo, range.hi].into_iter().chain((0..30).map(|_| inside(random.next()))).collect()
        }
        Possible::Bits { value, mask } => (0..30).map(|_| value | (random.next() & mask)).collect(),
    }
}

fn state(left: Scalar, right: Scalar) -> State {
    let mut state = State::entry(0, 0);
    state.set(1, Value::Scalar(left.with_id(90)));
    state.set(2, Value::Scalar(right.with_id(91)));
    state
}

fn scalar(state: &State, register: u8) -> Scalar {
    state.register(register).as_scalar().unwrap()
}

/// Checks an arithmetic instruction on r1 and r2.
fn check_arithmetic(insn: Insn, endian: Endian, random: &mut Random) {
    let program = Program {
        insns: &[insn],
        functions: &[Function { start: 0, is_global: true }],
        loads: &[],
        endian,
        verifies_uncalled_functions: false,
        exception_callback: None,
        bounds_context: false,
        passes_context: true,
    };
    for _ in 0..TRIALS {
        let ((left, lefts), (right, rights)) = (random.scalar(), random.scalar());
        let mut state = state(left, right);
        execute(&program, &mut state, insn);
        let result = scalar(&state, 1);
        let context = || format!("{insn}\nr1 {left:x?}\nr2 {right:x?}\nresult {result:x?}");
        let mut results = HashSet::new();
        for (a, b) in lefts.iter().flat_map(|a| rights.iter().map(move |b| (*a, *b))) {
            let number = compute(insn, endian, a, b).unwrap();
            results.insert(number);
            assert!(result.bounds.contains(number), "{a:#x} {b:#x} {number:#x}\n{}", context());
            let low = number & 0xffff_ffff;
            assert!(result.bounds32().contains(low), "{a:#x} {b:#x} {number:#x}: low half\n{}", context());
        }
        for number in members(result.possible, random) {
            assert!(results.contains(&number), "{number:#x} is no result\n{}", context());
        }
    }
}

#[test]
fn arithmetic_agrees_with_each_number() {
    let mut random = Random(1);
    let insn = |code, off, imm| Insn { code, dst: 1, src: 2, off, imm };
    for class in [0x0f, 0x0c] {
        for operation in [0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0] {
            check_arithmetic(insn(operation | class, 0, 0), Endian::Little, &mut random);
        }
        for signed in [0x30, 0x90] {
            check_arithmetic(insn(signed | class, 1, 0), Endian::Little, &mut random);
        }
        for bits in [8, 16, 32].into_iter().filter(|bits| class == 0x0f || *bits < 32) {
            check_arithmetic(insn(0xb0 | class, bits, 0), Endian::Little, &mut random);
        }
    }
    for code in [0x87, 0x84] {
        check_arithmetic(insn(code, 0, 0), Endian::Little, &mut random);
    }
    for code in [0xd7, 0xd4, 0xdc] {
        for bits in [16, 32, 64] {
            for endian in [Endian::Little, Endian::Big] {
                check_arithmetic(insn(code, 0, bits), endian, &mut random);
            }
        }
    }
}

/// Checks a direction of a branch on r1 and r2.
fn check_direction(insn: Insn, is_taken: bool, random: &mut Random) {
    let ((left, lefts), (right, rights)) = (random.scalar(), random.scalar());
    let mut state = state(left, right);
    let condition = Condition::decode(insn, &state).unwrap();
    let [taken, not_taken] = condition.directions();
    let direction = if is_taken { taken } else { not_taken };
    let follows = |a: u64, b: u64| holds(insn, a, b).unwrap() == is_taken;
    let pairs = || lefts.iter().flat_map(|a| rights.iter().map(move |b| (*a, *b)));
    if direction != Direction::Dead {
        condition.apply(&mut state, is_taken);
    }
    let (new_left, new_right) = (scalar(&state, 1), scalar(&state, 2));
    let context = || {
        format!(
            "{insn} {is_taken} {direction:?}\nr1 {left:x?}\nr2 {right:x?}\nnow {new_left:x?}\nand {new_right:x?}"
        )
    };
    for (a, b) in pairs().filter(|(a, b)| follows(*a, *b)) {
        assert_ne!(direction, Direction::Dead, "{a:#x} {b:#x}\n{}", context());
        assert!(new_left.bounds.contains(a) && new_right.bounds.contains(b), "{a:#x} {b:#x}\n{}", context());
    }
    if direction == Direction::Certain {
        assert!(pairs().any(|(a, b)| follows(a, b)), "no numbers follow\n{}", context());
        // No verifier remembers a missing number inside of a range.
        let is_equality = matches!(insn.code & 0xf0, 0x10 | 0x50);
        for a in members(new_left.possible, random) {
            let is_possible = rights.iter().any(|b| follows(a, *b)) || is_equality;
            assert!(lefts.contains(&a) && is_possible, "left {a:#x}\n{}", context());
        }
        for b in members(new_right.possible, random) {
            let is_possible = lefts.iter().any(|a| follows(*a, b)) || is_equality;
            assert!(rights.contains(&b) && is_possible, "right {b:#x}\n{}", context());
        }
    }
}

#[test]
fn branches_agree_with_each_pair_of_numbers() {
    let mut random = Random(2);
    for class in [0x0d, 0x0e] {
        for comparison in [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0] {
            let insn = Insn { code: comparison | class, dst: 1, src: 2, off: 0, imm: 0 };
            for _ in 0..TRIALS {
                check_direction(insn, true, &mut random);
                check_direction(insn, false, &mut random);
            }
        }
    }
}
