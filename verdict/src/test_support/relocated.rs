//! The numbers of relocated instructions on which an analysis depends.

use super::decisions::Inputs;
use super::generator::generate;
use super::program::GeneratedProgram;
use crate::reach::{Reachability, split_number};
use core_relo::insn::{Class, Insn, alu};

/// The programs with other numbers that are compared.
const VARIANTS: usize = 4;

/// The counts of a check, to show that a generator writes useful programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "tests read the counts")]
pub struct RelocatedNumbers {
    /// The relocated numbers on which analyses depend.
    pub used: usize,
    /// The other relocated numbers.
    pub unused: usize,
}

/// Generates a program from bytes, lets some of its numbers be relocated, and analyses the program. Panics if
/// the result differs from that of an analysis without relocated numbers, of the program or of a program with
/// other numbers in place of those on which the result does not depend.
pub fn check_relocated_numbers(bytes: &[u8]) -> RelocatedNumbers {
    let mut program = generate(bytes);
    let seed = bytes.iter().fold(1, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let mut inputs = Inputs::new(seed, vec![0, 1, 8, 16, 24]);
    for insn in &mut program.insns {
        *insn = addition_in_place_of(*insn, &mut inputs);
    }
    let with_number = (0..).zip(&program.insns).filter(|(_, insn)| split_number(**insn).1.is_some());
    let relocated: Vec<u32> =
        with_number.map(|(insn, _)| insn).filter(|_| inputs.random() >> 63 == 0).collect();
    let (expected, used) = program.analyze_relocated(&relocated);
    assert_same(&program, &expected, &program.analyze());
    let unused: Vec<u32> =
        relocated.iter().copied().filter(|insn| used.binary_search(insn).is_err()).collect();
    for _ in 0..VARIANTS {
        for insn in &unused {
            let place = usize::try_from(*insn).ok().and_then(|insn| program.insns.get_mut(insn));
            if let Some(place) = place {
                *place = with_number_of(*place, inputs.number());
            }
        }
        assert_same(&program, &expected, &program.analyze());
    }
    RelocatedNumbers { used: used.len(), unused: unused.len() }
}

/// Returns an addition in place of half of the operations with immediates: programs add offsets of fields.
fn addition_in_place_of(insn: Insn, inputs: &mut Inputs) -> Insn {
    let is_operation = matches!(insn.class(), Class::Alu | Class::Alu64) && insn.operation() != alu::MOV;
    if is_operation && !insn.source_is_register() && inputs.random() >> 63 == 0 {
        return Insn { code: 0x07, off: 0, ..insn };
    }
    insn
}

/// Returns an instruction with another number: an immediate of an operation, an offset of an access.
fn with_number_of(insn: Insn, number: u64) -> Insn {
    let number = i32::try_from(number & 0xffff_ffff).unwrap_or(i32::MIN);
    match insn.class() {
        Class::Alu64 => Insn { imm: number, ..insn },
        _ => Insn { off: i16::try_from(number % 0x8000).unwrap_or(0), ..insn },
    }
}

fn assert_same(program: &GeneratedProgram, expected: &Reachability, found: &Reachability) {
    assert_eq!(expected, found, "{program:?}");
}
