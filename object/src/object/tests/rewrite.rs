//! Rewriting: code sections with new contents, and objects without their CO-RE records.

use super::*;
use core_relo::ext::RelocKind;

#[test]
fn rewriting_changes_only_the_named_sections() {
    let bytes = sample(Endian::Little);
    let o = Object::parse(&bytes).unwrap();
    let new = [0xb7; 40];
    let copy = o.rewrite([(&b"?kprobe/do_exit"[..], &new[..])], KEEP).unwrap();
    let again = Object::parse(&copy).unwrap();
    assert_eq!(again.code_sections()[1].code, new);
    let differing = bytes.iter().zip(&copy).filter(|(a, b)| a != b).count();
    assert!(differing <= 40 && copy.len() == bytes.len());
    assert_eq!(again.rewrite([(&b"?kprobe/do_exit"[..], o.code_sections()[1].code)], KEEP).unwrap(), bytes);

    let missing = RewriteError::NoSection { section: "license".into() };
    assert_eq!(o.rewrite([(&b"license"[..], &b"MIT"[..])], KEEP), Err(missing));
    let length = RewriteError::Length { section: ".text".into(), expected: 16, found: 8 };
    assert_eq!(o.rewrite([(&b".text"[..], &EXIT[..])], KEEP), Err(length));
}

#[test]
fn sections_of_one_name_are_rewritten_in_their_order() {
    let mut m = crate::test_support::TestObject::new();
    for n in 0..3 {
        m.code("xdp", &crate::test_support::returns(n));
    }
    m.code("tc", &crate::test_support::returns(7));
    let bytes = m.bytes();
    let o = Object::parse(&bytes).unwrap();
    let new: Vec<Vec<u8>> = o.code_sections().iter().rev().map(|s| s.code.to_vec()).collect();
    let names = o.code_sections().iter().map(|s| s.name);
    let copy = o.rewrite(names.zip(new.iter().map(Vec::as_slice)), KEEP).unwrap();
    let found: Vec<_> =
        Object::parse(&copy).unwrap().code_sections().iter().map(|s| s.code.to_vec()).collect();
    assert_eq!(found, new);
    let four = [(&b"xdp"[..], &*new[0]); 4];
    assert_eq!(o.rewrite(four, KEEP), Err(RewriteError::NoSection { section: "xdp".into() }));
}

#[test]
fn sections_that_share_bytes_are_not_rewritten() {
    let whole = sample(Endian::Little);
    let extent = |name: &[u8]| {
        let object = Object::parse(&whole).unwrap();
        let found = object.sections().iter().find(|s| s.name == name).unwrap();
        (found.offset, found.size)
    };
    let (text, other) = (extent(b".text"), extent(b"?kprobe/do_exit"));
    // Offsets within the other code section, a non-code section, and the ELF header.
    for offset in [other.0, other.0 + other.1 - 8, extent(b".BTF").0, 0x30] {
        let mut bytes = whole.clone();
        let at = header_offset(b".text", 24);
        bytes[at..at + 8].copy_from_slice(&word64(offset));
        let object = Object::parse(&bytes).unwrap();
        let new = vec![0x95; usize::try_from(text.1).unwrap()];
        let overlap = RewriteError::Overlap { section: ".text".into() };
        assert_eq!(object.rewrite([(&b".text"[..], &new[..])], KEEP), Err(overlap), "{offset:#x}");
        // A rewrite that changes nothing does no damage.
        assert_eq!(
            object.rewrite([(&b".text"[..], object.code_sections()[0].code)], KEEP),
            Ok(bytes.clone())
        );
    }
}

/// Returns an object with one CO-RE record.
fn with_record() -> Vec<u8> {
    let mut m = crate::test_support::TestObject::new();
    m.code("xdp", &crate::test_support::returns(7));
    let task = m.types.structure("task_struct", 4, &[("pid", m.int, 0)]);
    m.core_relo("xdp", &[(0, task, "0:0", RelocKind::FieldByteOffset.raw())]);
    m.bytes()
}

fn record_count(bytes: &[u8]) -> usize {
    Object::parse(bytes).unwrap().relocs().unwrap().records().len()
}

#[test]
fn the_records_of_the_parsed_section_are_removed() {
    let whole = with_record();
    assert_eq!(record_count(&whole), 1);
    let without = |bytes: &[u8]| Object::parse(bytes).unwrap().rewrite([], CoreRecords::Remove).unwrap();
    assert_eq!(record_count(&without(&whole)), 0);
    // The reserved section 0 has the name, but no content.
    let object = Object::parse(&whole).unwrap();
    let ext = object.sections().iter().position(|s| s.name == b".BTF.ext").unwrap();
    let headers = object.endian().u64(&whole, 0x28).and_then(|at| usize::try_from(at).ok()).unwrap();
    let mut bytes = whole.clone();
    let name = whole[headers + ext * 64..][..4].to_vec();
    bytes[headers..headers + 4].copy_from_slice(&name);
    assert_eq!(Object::parse(&bytes).unwrap().sections()[0].name, b".BTF.ext");
    assert_eq!(record_count(&without(&bytes)), 0);
}

#[test]
fn records_that_share_bytes_with_another_part_are_not_removed() {
    let whole = with_record();
    let object = Object::parse(&whole).unwrap();
    let place = |name: &[u8]| object.sections().iter().position(|s| s.name == name).unwrap();
    let headers = object.endian().u64(&whole, 0x28).and_then(|at| usize::try_from(at).ok()).unwrap();
    let ext = object.sections()[place(b".BTF.ext")].offset;
    let mut bytes = whole.clone();
    bytes[headers + place(b"license") * 64 + 24..][..8].copy_from_slice(&object.endian().u64_bytes(ext));
    let object = Object::parse(&bytes).unwrap();
    let overlap = RewriteError::Overlap { section: ".BTF.ext".into() };
    assert_eq!(object.rewrite([], CoreRecords::Remove), Err(overlap));
    assert_eq!(object.rewrite([], KEEP), Ok(bytes.clone()));
}

/// A header before LLVM 10 has no place for the length of CO-RE records, and so no records.
#[test]
fn an_object_without_records_stays_as_it_is() {
    for endian in [Endian::Little, Endian::Big] {
        let bytes = sample(endian);
        let object = Object::parse(&bytes).unwrap();
        assert_eq!(object.rewrite([], CoreRecords::Remove), Ok(bytes.clone()));
    }
}
