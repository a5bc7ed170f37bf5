//! Jumps, addresses and steps of generated programs.

use super::{
    code::{Code, Condition, R0, R1, RESULT},
    *,
};
use core_relo::insn::Insn;

fn insns(code: Code) -> Vec<Insn> {
    let bytes = code.finish();
    bytes.chunks_exact(8).map(|raw| Insn::decode(Endian::native(), *raw.first_chunk().unwrap())).collect()
}

/// Follows the jump of a failed request to the cleanup.
fn cleanup_of(insns: &[Insn], mut at: usize) -> usize {
    loop {
        let insn = insns[at];
        let target =
            at.checked_add_signed(isize::from(insn.off)).and_then(|next| next.checked_add(1)).unwrap();
        if target == 1 {
            return target;
        }
        assert_eq!(insns[target].code, 0x05, "a relay is a jump");
        at = target;
    }
}

#[test]
fn failed_requests_of_long_programs_reach_the_cleanup_over_relays() {
    let mut code = Code::default();
    code.set(RESULT, 0);
    code.begin_cleanup();
    code.exit();
    let mut checks = Vec::new();
    for _ in 0..50_000 {
        code.set(R1, 7);
        code.check_result().unwrap();
        checks.push(code.len() - 1);
    }
    let insns = insns(code);
    for check in checks {
        assert_eq!((insns[check].code, insns[check].dst), (0xc5, 7));
        assert_eq!(cleanup_of(&insns, check), 1);
    }
}

#[test]
fn addresses_are_shared_within_reach_and_not_over_a_jump_that_may_skip_them() {
    let mut code = Code::default();
    code.store(Size::Word, 0, R1);
    code.store(Size::Word, 32_000, R1);
    assert_eq!(code.len(), 4, "one address, two stores");
    let skip = code.jump(Condition::Equal, R1, 0);
    code.store(Size::Word, 100_000, R1);
    code.land(skip).unwrap();
    let before = code.len();
    code.store(Size::Word, 100_000, R0);
    assert_eq!(code.len() - before, 3, "the address is set again");
}

#[test]
fn no_changed_byte_of_a_file_with_names_makes_the_reader_panic() {
    let mut data = Data::default();
    let tables = Tables::new(&mut data, 2, 3, 1).unwrap();
    assert_eq!(tables.all_fds().unwrap().1, 8);
    let name = data.add_text(b"vfs_read").unwrap();
    let number = crate::loader_program::LoaderStep::number(StepKind::FindSymbol, 1).unwrap();
    let mut data = data.finish();
    data[..4].copy_from_slice(&Endian::native().u32_bytes(number));
    data[4..8].copy_from_slice(&Endian::native().u32_bytes(name));
    let read = |data: &[u8]| crate::loader_program::LoaderStep::read(Endian::native(), data);
    assert_eq!(read(&data).unwrap().to_string(), "finding kernel symbol `vfs_read`");
    for at in 0..8 {
        for value in 0..=u8::MAX {
            let mut changed = data.clone();
            changed[at] = value;
            // A hostile program may write any step.
            drop(read(&changed));
        }
    }
    assert_eq!(read(&data[..6]), None);
}
