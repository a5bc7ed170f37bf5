//! The numbers on which an analysis depends: of relocated instructions, and in the configuration.

use super::decisions::Inputs;
use super::generator::generate;
use super::program::{GeneratedLoad, GeneratedProgram};
use crate::reach::{Reachability, split_number};
use core_relo::insn::{Class, FRAME_POINTER, Insn, alu, mode};

/// The programs with other numbers that are compared.
const VARIANTS: usize = 4;

/// The kernels with other configuration values that are compared.
const KERNELS: usize = 16;

/// The instructions after a load of a configuration value that operate on the value.
const OPERATIONS: usize = 5;

/// The counts of a check, to show that a generator writes useful programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "tests read the counts")]
pub struct KernelNumbers {
    /// The relocated numbers on which analyses depend.
    pub used: usize,
    /// The other relocated numbers.
    pub unused: usize,
    /// The kernels that differ in a configuration value that the analysis depends on, with the same result.
    pub kernels: usize,
}

/// Generates a program from bytes, lets some of its numbers be relocated and its data be configuration
/// values, and analyses the program. Panics if the result differs from that of an analysis to which no number
/// depends on the kernel, of the program or of a program with other numbers for which the result counts.
pub fn check_kernel_numbers(bytes: &[u8]) -> KernelNumbers {
    let mut program = generate(bytes);
    let seed = bytes.iter().fold(1, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let mut inputs = Inputs::new(seed, vec![0, 1, 8, 16, 24]);
    for insn in &mut program.insns {
        *insn = addition_in_place_of(*insn, &mut inputs);
    }
    operate_on_loaded_data(&mut program, &mut inputs);
    let with_number = (0..).zip(&program.insns).filter(|(_, insn)| split_number(**insn).1.is_some());
    let relocated: Vec<u32> =
        with_number.map(|(insn, _)| insn).filter(|_| inputs.random() >> 63 == 0).collect();
    let (expected, used) = program.analyze_on_kernel(&relocated);
    assert_same(&program, &expected, &program.analyze());
    let unused: Vec<u32> =
        relocated.iter().copied().filter(|insn| used.relocated.binary_search(insn).is_err()).collect();
    for _ in 0..VARIANTS {
        for insn in &unused {
            let place = usize::try_from(*insn).ok().and_then(|insn| program.insns.get_mut(insn));
            if let Some(place) = place {
                *place = with_number_of(*place, inputs.number());
            }
        }
        assert_same(&program, &expected, &program.analyze());
    }
    let config = used.config.unwrap_or_else(|| panic!("few uses of configuration values: {program:?}"));
    let original = program.config();
    let mut kernels = 0;
    for _ in 0..KERNELS {
        change_config(&mut program, &mut inputs);
        if program.config().meets(&config, program.endian) {
            assert_same(&program, &expected, &program.analyze());
            let bytes = (0..).zip(original.bytes.iter().zip(&program.data));
            let mut changed = bytes.filter(|(_, (old, new))| old != new).map(|(byte, _)| byte);
            kernels += usize::from(changed.any(|byte| config.iter().any(|used| used.reads(byte))));
        }
        program.data.clone_from(&original.bytes);
        program.unknown.clone_from_slice(&original.unknown);
    }
    KernelNumbers { used: used.relocated.len(), unused: unused.len(), kernels }
}

/// Lets some of the instructions after a load of data operate on the loaded value.
fn operate_on_loaded_data(program: &mut GeneratedProgram, inputs: &mut Inputs) {
    for (load, value) in &program.loads {
        if !matches!(value, GeneratedLoad::Data(_)) {
            continue;
        }
        // The load follows the two slots of the address.
        let first = usize::try_from(*load).unwrap_or(usize::MAX);
        let mut insns = program.insns.iter_mut().skip(first).skip(2);
        let Some(mut register) = insns.next().map(|insn| insn.dst) else { continue };
        for insn in insns.take(OPERATIONS) {
            let (ends, is_wide) = (inputs.random() >> 62 == 0, inputs.random() >> 63 == 0);
            if ends {
                break;
            }
            match insn.class() {
                Class::Ldx if insn.mode() == mode::MEM && insn.src == FRAME_POINTER => {
                    let code = if is_wide { 0xbf } else { 0xbc };
                    *insn = Insn { code, dst: insn.dst, src: register, off: 0, imm: 0 };
                    register = insn.dst;
                }
                Class::Alu | Class::Alu64 if insn.dst != FRAME_POINTER && insn.operation() != alu::MOV => {
                    insn.dst = register;
                }
                _ if insn.is_comparison() => insn.dst = register,
                _ => {}
            }
        }
    }
}

/// Changes some configuration values.
fn change_config(program: &mut GeneratedProgram, inputs: &mut Inputs) {
    for _ in 0..=inputs.random() >> 62 {
        let place = usize::try_from(inputs.random() >> 32).unwrap_or(0) % program.data.len();
        let byte = inputs.number() & 0xff;
        if let (Some(old), Ok(byte)) = (program.data.get_mut(place), u8::try_from(byte)) {
            *old = byte;
        }
    }
    if inputs.random() >> 61 == 0 {
        let start = usize::try_from(inputs.random() >> 60).unwrap_or(0);
        program.unknown.fill(start..start + 4);
    }
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
