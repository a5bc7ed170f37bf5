//! `.BTF_ids` in files that the tests make.

use super::*;
use core_relo::btf::{Btf, Builder};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind as WriteSymbolKind,
    SymbolScope,
    write::{Object, Symbol, SymbolSection},
};

/// The name, offset and size of a symbol.
type TestSymbol<'s> = (&'s str, u64, u64);

/// Builds a relocatable file with these words in `.BTF_ids` and these symbols: name, offset, size.
fn file(endian: Endianness, words: &[u32], symbols: &[TestSymbol<'_>]) -> Vec<u8> {
    let arch = if endian == Endianness::Little { Architecture::X86_64 } else { Architecture::S390x };
    let mut object = Object::new(BinaryFormat::Elf, arch, endian);
    let section = object.add_section(Vec::new(), b".BTF_ids".to_vec(), SectionKind::ReadOnlyData);
    let order = if endian == Endianness::Little { Endian::Little } else { Endian::Big };
    let mut data = Vec::new();
    for word in words {
        order.put_u32(&mut data, *word);
    }
    object.append_section_data(section, &data, 4);
    for (name, value, size) in symbols {
        object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: *value,
            size: *size,
            kind: WriteSymbolKind::Data,
            scope: SymbolScope::Compilation,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    object.write().unwrap()
}

/// The symbols of a list with an unused slot, a set and a set of kfuncs.
const SYMBOLS: [TestSymbol<'_>; 10] = [
    ("list", 0, 0),
    ("__BTF_ID__struct__task_struct__1", 0, 4),
    ("__BTF_ID__typedef__pid_t__2", 8, 4),
    ("set", 12, 0),
    ("__BTF_ID__set__set", 12, 12),
    ("__BTF_ID__func__b__3", 16, 4),
    ("__BTF_ID__func__alpha__4", 20, 4),
    ("__BTF_ID__set8__kfuncs", 24, 24),
    ("__BTF_ID__func__b__5", 32, 4),
    ("__BTF_ID__func__alpha__6", 40, 4),
];
const WORDS: [u32; 12] = [0, 0, 0, 0, 0, 0, 0, 1, 0, 11, 0, 12];

fn btf(endian: Endian) -> Btf<'static> {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, 0);
    let proto = b.func_proto(int, &[]);
    b.func("alpha", proto, 0);
    b.func("b", proto, 0);
    b.structure("task_struct", 8, &[]);
    b.typedef("pid_t", int);
    b.typedef("b", int);
    Btf::parse(b.finish()).unwrap()
}

fn ids(set: &IdSet<'_>) -> Vec<u32> {
    set.slots.iter().map(|slot| slot.id.0).collect()
}

#[test]
fn lists_and_sets_are_resolved_sorted_and_counted() {
    for (endian, order) in [(Endianness::Little, Endian::Little), (Endianness::Big, Endian::Big)] {
        let bytes = file(endian, &WORDS, &SYMBOLS);
        let parsed = BtfIds::parse(&bytes).unwrap();
        assert!(!parsed.is_resolved());
        let names: Vec<_> = parsed.sets().iter().map(|set| (set.name, set.kind, set.names.len())).collect();
        let expected: [(&[u8], IdSetKind, usize); 3] =
            [(b"list", IdSetKind::List, 2), (b"set", IdSetKind::Set, 2), (b"kfuncs", IdSetKind::FlagSet, 2)];
        assert_eq!(names, expected);
        assert_eq!(parsed.sets()[1].names[1].name, b"alpha");

        let resolved = parsed.resolve(&btf(order)).unwrap();
        assert_eq!((resolved.resolved, resolved.missing.len(), resolved.ambiguous.len()), (6, 0, 0));
        let after = BtfIds::parse(&resolved.file).unwrap();
        let [list, set, kfuncs] = after.sets() else { panic!("three lists") };
        assert_eq!(ids(list), [5, 0, 6]);
        assert_eq!((set.count, ids(set)), (Some(2), vec![3, 4]));
        assert_eq!((kfuncs.count, kfuncs.flags, ids(kfuncs)), (Some(2), Some(1), vec![3, 4]));
        let flags: Vec<_> = kfuncs.slots.iter().map(|slot| slot.flags).collect();
        assert_eq!(flags, [Some(12), Some(11)], "flags move with their ids");
        assert_eq!(after.check(&btf(order)), [vec![], vec![], vec![]]);
        let again = after.resolve(&btf(order)).err();
        assert_eq!(again, Some(BtfIdsError::AlreadyResolved { set: "list".to_owned().into() }));
        let changed = bytes.iter().zip(&resolved.file).filter(|(a, b)| a != b).count();
        assert!(bytes.len() == resolved.file.len() && changed <= 12, "{changed} bytes changed");
    }
}

#[test]
fn problems_are_found() {
    let mut words = WORDS;
    // The id of another struct, a wrong count, ids that are not sorted.
    (words[0], words[3], words[4], words[5]) = (1, 3, 4, 3);
    let bytes = file(Endianness::Little, &words, &SYMBOLS);
    let problems = BtfIds::parse(&bytes).unwrap().check(&btf(Endian::Little));
    let text: Vec<Vec<_>> =
        problems.iter().map(|set| set.iter().map(ToString::to_string).collect()).collect();
    let expected = [
        vec!["STRUCT `task_struct`: expected [5], found [1]", "TYPEDEF `pid_t`: expected [6], found [0]"],
        vec!["the count is 3, expected 2", "the ids are not sorted"],
        vec![
            "the count is 0, expected 2",
            "FUNC `b`: expected [4], which the set does not contain",
            "FUNC `alpha`: expected [3], which the set does not contain",
        ],
    ];
    assert_eq!(text, expected);
}

#[test]
fn missing_and_ambiguous_types_are_reported() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, 0);
    b.typedef("pid_t", int);
    b.typedef("pid_t", int);
    let btf = Btf::parse(b.finish()).unwrap();
    let bytes = file(Endianness::Little, &WORDS, &SYMBOLS);
    let resolved = BtfIds::parse(&bytes).unwrap().resolve(&btf).unwrap();
    assert_eq!((resolved.resolved, resolved.missing.len()), (1, 5));
    let ambiguous = UnresolvedName { set: b"list", kind: Kind::Typedef, name: b"pid_t" };
    assert_eq!(resolved.ambiguous, [ambiguous]);
    assert_eq!(ids(&BtfIds::parse(&resolved.file).unwrap().sets()[0]), [0, 0, 2]);
}

#[test]
fn symbols_that_the_macros_do_not_make_are_errors() {
    let error = |symbols: &[TestSymbol<'_>]| {
        BtfIds::parse(&file(Endianness::Little, &[0; 4], symbols)).err().map(|e| e.to_string())
    };
    let cases: [(&[TestSymbol<'_>], &str); 7] = [
        (&[("__BTF_ID__var__x__1", 0, 4)], "symbol `__BTF_ID__var__x__1` is no `__BTF_ID__KIND__NAME__N`"),
        (&[("__BTF_ID__func__x", 0, 4)], "symbol `__BTF_ID__func__x` is no `__BTF_ID__KIND__NAME__N`"),
        (&[("__BTF_ID__set__s", 0, 6)], "set `__BTF_ID__set__s` has 6 bytes, expected 4 and a multiple of 4"),
        (
            &[("__BTF_ID__set8__s", 0, 4)],
            "set `__BTF_ID__set8__s` has 4 bytes, expected 8 and a multiple of 8",
        ),
        (&[("__BTF_ID__set__s", 0, 12), ("__BTF_ID__set__t", 8, 8)], "set `t` overlaps the set before it"),
        (
            &[("__BTF_ID__func__a__1", 0, 4), ("__BTF_ID__func__b__2", 0, 4)],
            "symbol `__BTF_ID__func__b__2` has no slot of its own",
        ),
        (&[("__BTF_ID__func__a__1", 12, 8)], "symbol `__BTF_ID__func__a__1` lies outside of the 16 bytes"),
    ];
    for (symbols, expected) in cases {
        let found = error(symbols).unwrap();
        assert!(found.starts_with(expected), "{found}");
    }
    let in_header = error(&[("__BTF_ID__set8__s", 0, 16), ("__BTF_ID__func__a__1", 4, 4)]);
    assert_eq!(in_header.as_deref(), Some("symbol `a` has no slot of its own"));
    let in_next_set = error(&[("list", 0, 0), ("__BTF_ID__struct__a__1", 0, 1), ("__BTF_ID__set__s", 1, 8)]);
    assert_eq!(in_next_set.as_deref(), Some("symbol `a` has no slot of its own"));
    assert_eq!(
        BtfIds::parse(b"\x7fELF").err().map(|e| e.to_string()).as_deref(),
        Some("truncated ELF header: the file has 4 bytes")
    );
}

#[test]
fn files_cut_short_or_changed_anywhere_never_panic() {
    let bytes = file(Endianness::Little, &WORDS, &SYMBOLS);
    let btf = btf(Endian::Little);
    for len in 0..bytes.len() {
        drop(BtfIds::parse(&bytes[..len]).map(|ids| ids.check(&btf)));
    }
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            if let Ok(ids) = BtfIds::parse(&changed) {
                ids.check(&btf);
                drop(ids.resolve(&btf));
            }
        }
    }
}
