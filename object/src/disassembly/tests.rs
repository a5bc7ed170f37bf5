//! Tests of the disassembly of an object.

use super::{
    Disassembly, ElfRelocation, ElfRelocations, InsnDefect, JumpTarget, Reference, ReferenceKind, RelocPlace,
};
use crate::{
    object::Object,
    test_support::{SectionKind, SymbolKind, TestObject, call, exit, insn, load, returns},
};
use core_relo::{Endian, InsnIndex, Name};

#[test]
fn references_have_the_names_of_symbols() {
    let mut object = TestObject::new();
    let data = object.section(".data", SectionKind::Data, &[0; 16]);
    let variable = object.symbol("counter", SymbolKind::Data, data, 8, 8);
    let text = object.code(".text", &[exit()]);
    let function = object.function("helping", text, 0, 1);
    let kernel_function = object.undefined("bpf_something", false);
    let code = [&load(1, 4)[..], &[call(-1), call(-1), insn(0x85, 0, 0, 0, 14), exit()]].concat();
    let section = object.program("main", "xdp", &code);
    object.refer(section, 0, variable, false);
    object.refer(section, 2, function, true);
    object.refer(section, 3, kernel_function, true);
    let bytes = object.bytes();
    let object = Object::parse(&bytes).unwrap();
    let disassembly = Disassembly::new(&object);
    assert_eq!(disassembly.relocs_error(), None);
    let sections: Vec<_> = disassembly.sections().collect();
    let program = sections.iter().find(|section| section.name() == b"xdp").unwrap();
    let texts: Vec<_> = program.instructions().filter_map(|i| i.reference).map(|r| r.to_string()).collect();
    assert_eq!(
        texts,
        [".data counter +4", "function helping", "symbol bpf_something", "bpf_get_current_pid_tgid"]
    );
    let kind = ReferenceKind::Variable(Name::new(b".data"));
    let expected = Reference { kind, name: Some(Name::new(b"counter")), offset: 4 };
    assert_eq!(program.instructions().next().unwrap().reference, Some(expected));
}

/// Relocations refer to static functions and variables by the symbol of their section, and those of data are
/// skipped by loaders.
#[test]
fn relocations_have_places_and_the_names_of_static_symbols() {
    let mut object = TestObject::new();
    let text = object.code(".text", &[returns(0), returns(1)].concat());
    object.static_function("first", text, 0, 2);
    object.static_function("second", text, 2, 2);
    let mut bytes = vec![0; 8];
    for word in [16, 0] {
        Endian::native().put_u64(&mut bytes, word);
    }
    for word in [0, 0xffff_fffc] {
        Endian::native().put_u32(&mut bytes, word);
    }
    let data = object.section(".data", SectionKind::Data, &bytes);
    object.symbol("pointers", SymbolKind::Data, data, 0, 16);
    object.symbol("counter", SymbolKind::Data, data, 16, 8);
    let (text_symbol, data_symbol) = (object.section_symbol(text), object.section_symbol(data));
    let section = object.program("main", "xdp", &[&load(1, 16)[..], &[call(1), exit()]].concat());
    object.refer(section, 0, data_symbol, false);
    object.refer(section, 2, text_symbol, true);
    object.reloc(data, 0, data_symbol, 2);
    object.reloc(data, 8, text_symbol, 2);
    // A word of 32 bits with a negative addend.
    object.reloc(data, 28, data_symbol, 3);
    let bytes = object.bytes();
    let object = Object::parse(&bytes).unwrap();
    let relocations = ElfRelocations::new(&object);
    let describe = |relocation: ElfRelocation<'_, '_>| {
        let place = match relocation.place {
            RelocPlace::Insn { index, function } => {
                format!("{} insn {index}", Name::new(function.unwrap().name()))
            }
            RelocPlace::Data { variable: Some((name, offset)) } => format!("{name} {offset}"),
            RelocPlace::Data { variable: None } => "no variable".to_owned(),
        };
        let ElfRelocation { reloc, addend, reference, is_applied, .. } = relocation;
        let (symbol, reference) = (Name::new(reloc.symbol.name), reference.unwrap());
        format!("{place}: {} {symbol}+{addend}: {reference}, {is_applied}", reloc.kind)
    };
    let texts: Vec<_> = relocations.iter().map(|relocation| describe(relocation.unwrap())).collect();
    assert_eq!(
        texts,
        [
            "pointers 0: R_BPF_64_ABS64 .data+0: .data pointers, false",
            "pointers 8: R_BPF_64_ABS64 .text+16: function second, false",
            "no variable: R_BPF_64_ABS32 .data+-4: .data -4, false",
            "main insn 0: R_BPF_64_64 .data+16: .data counter, true",
            "main insn 2: R_BPF_64_32 .text+16: function second, true",
        ]
    );
    let pointers = object.null_pointers().listed;
    let texts: Vec<_> = pointers.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "variable `pointers` (.data+0x0): the pointer to `pointers` stays null",
            "variable `pointers` (.data+0x8): the pointer to `second` stays 0x10, an offset without the address",
            ".data+0x1c: the pointer to `.data` stays 0xfffffffffffffffc, an offset without the address",
        ]
    );
}

#[test]
fn a_function_begins_a_new_instruction() {
    let mut object = TestObject::new();
    let code = object.code("xdp", &[insn(0x05, 0, 0, 1, 0), load(1, 0)[0], insn(0x15, 0, 0, -2, 0), exit()]);
    object.function("first", code, 0, 2);
    object.function("second", code, 2, 2);
    let bytes = object.bytes();
    let object = Object::parse(&bytes).unwrap();
    let disassembly = Disassembly::new(&object);
    let section = disassembly.sections().next().unwrap();
    let found: Vec<_> = section.instructions().map(|i| (i.index.0, i.defect, i.jump)).collect();
    let expected = [
        (0, None, Some(JumpTarget::Outside(2))),
        (1, Some(InsnDefect::Truncated), None),
        (2, None, Some(JumpTarget::Outside(1))),
        (3, None, None),
    ];
    assert_eq!(found, expected);
    assert!(section.instructions().nth(2).unwrap().is_jump_target);
    let names: Vec<_> = section.instructions().map(|i| i.functions.len()).collect();
    assert_eq!(names, [1, 0, 1, 0]);
}

#[test]
fn jumps_into_a_load_have_no_instruction() {
    let mut object = TestObject::new();
    object.program("main", "xdp", &[&[insn(0x05, 0, 0, 1, 0)][..], &load(1, 0), &[exit()]].concat());
    let bytes = object.bytes();
    let object = Object::parse(&bytes).unwrap();
    let disassembly = Disassembly::new(&object);
    let section = disassembly.sections().next().unwrap();
    let first = section.instructions().next().unwrap();
    assert_eq!(first.jump, Some(JumpTarget::SecondSlot(InsnIndex(2))));
    assert_eq!(section.instructions().map(|i| i.index.0).collect::<Vec<_>>(), [0, 1, 3]);
}
