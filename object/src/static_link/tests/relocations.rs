//! Relocations: their checks, and words of data that move with the section that they refer to.
#![expect(clippy::unwrap_in_result, reason = "tests")]

use super::{LOCAL_SECTION, ORDERS, ObjectBuilder, link};
use crate::{
    elf::Elf,
    static_link::{RelocationError, StaticLinkError},
};
use core_relo::Endian;
use object::SectionKind;

#[test]
fn relocations_are_checked() {
    let faults = [
        (8, 77, RelocationError::Type { found: 77 }),
        (4, 10, RelocationError::Unaligned),
        (16, 10, RelocationError::Bounds { size: 16 }),
        (u64::MAX - 7, 1, RelocationError::Bounds { size: 16 }),
    ];
    for (offset, number, expected) in faults {
        let mut m = ObjectBuilder::new(Endian::Little);
        let text = m.code("raw_tp/a", 2);
        let function = m.function("callee", None, 0);
        m.reloc(text, offset, function, number);
        let Err(StaticLinkError::Relocation { cause, .. }) = link(&[&m.bytes()]) else {
            panic!("{expected}")
        };
        assert_eq!(cause, expected);
    }
    // Loaders find maps and programs by name. A word of data is no call.
    for (name, number) in [(".maps", 2), ("?.struct_ops.link", 2), (".data", 10)] {
        assert_eq!(
            link_words(Endian::Little, name, number, 0),
            Err(RelocationError::SectionSymbol),
            "{name}"
        );
    }
    for (number, addend) in [(2, u64::MAX >> 1), (2, (u64::MAX >> 1) - 7), (3, 0x7fff_fff8), (4, 0x7fff_ffff)]
    {
        assert_eq!(
            link_words(Endian::Little, ".data", number, addend),
            Err(RelocationError::Overflow),
            "{number}"
        );
    }
}

/// Links two objects with 8 bytes in a section. Those of the second refer to its beginning and an addend.
/// Returns the second word.
fn link_words(endian: Endian, section: &str, number: u32, addend: u64) -> Result<u64, RelocationError> {
    let bytes = if matches!(number, 3 | 4) {
        [endian.u32_bytes(u32::try_from(addend).unwrap()), [0; 4]].concat()
    } else {
        endian.u64_bytes(addend).to_vec()
    };
    let objects = [vec![0; 8], bytes].map(|bytes| {
        let mut m = ObjectBuilder::new(endian);
        let data = m.section(section, SectionKind::Data, &bytes);
        let symbol = m.symbol("", Some(data), LOCAL_SECTION, 0);
        if addend != 0 || number == 10 || section != ".data" {
            m.reloc(data, 0, symbol, number);
        }
        m.bytes()
    });
    match link(&[&objects[0][..], &objects[1]]) {
        Ok(linked) => {
            let data = Elf::parse(&linked).unwrap().section(section.as_bytes()).unwrap().data.to_vec();
            let word = if matches!(number, 3 | 4) {
                endian.u32(&data, 8).map(u64::from)
            } else {
                endian.u64(&data, 8)
            };
            Ok(word.unwrap())
        }
        Err(StaticLinkError::Relocation { cause, .. }) => Err(cause),
        other => panic!("{other:?}"),
    }
}

/// libbpf refuses words of data that refer to local symbols, and `R_BPF_64_NODYLD32` (4) in sections other
/// than BTF.
#[test]
fn words_of_data_move_with_the_section_that_they_refer_to() {
    for endian in ORDERS {
        for number in [1, 2, 3, 4] {
            assert_eq!(link_words(endian, ".data", number, 4), Ok(12), "{number}");
        }
        // An addend is signed: `a - 1` is before the start of `a`, which may move behind the start of the
        // section.
        for (number, minus_8, minus_4) in
            [(1, u64::MAX - 7, u64::MAX - 3), (2, u64::MAX - 7, u64::MAX - 3), (3, 0xffff_fff8, 0xffff_fffc)]
        {
            assert_eq!(link_words(endian, ".data", number, minus_8), Ok(0), "{number}");
            assert_eq!(link_words(endian, ".data", number, minus_4), Ok(4), "{number}");
        }
        assert_eq!(link_words(endian, ".data", 2, u64::MAX - 15), Ok(u64::MAX - 7));
        assert_eq!(link_words(endian, ".data", 4, 0xffff_fff0), Ok(0xffff_fff8));
        assert_eq!(link_words(endian, ".data", 3, 0x7fff_fff7), Ok(0x7fff_ffff));
        let mut m = ObjectBuilder::new(endian);
        let text = m.code("raw_tp/a", 2);
        let function = m.function("entry", Some(text), 0);
        let notes = m.section(".notes", SectionKind::Data, &[0; 8]);
        m.reloc(notes, 4, function, 4);
        let linked = link(&[&m.bytes()]).unwrap();
        let relocations = Elf::parse(&linked).unwrap().section(b".rel.notes").unwrap().data.to_vec();
        assert_eq!(
            (endian.u64(&relocations, 0), endian.u64(&relocations, 8).map(|info| info & 0xff)),
            (Some(4), Some(4))
        );
    }
}
