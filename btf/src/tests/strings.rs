//! Limits of the string section.

use crate::{Btf, BtfError, Builder, Endian, limits::STRING_BYTES};

/// Structs with names of so many bytes.
fn named(lens: &[usize]) -> Result<Btf<'static>, BtfError> {
    let mut b = Builder::new(Endian::Little);
    for len in lens {
        b.structure(&"n".repeat(*len), 0, &[]);
    }
    Btf::parse(b.finish())
}

#[test]
fn a_string_longer_than_any_name_is_refused_so_that_sharing_it_costs_no_time() {
    assert!(named(&[STRING_BYTES - 1]).is_ok());
    assert_eq!(named(&[2 * STRING_BYTES]).err(), Some(BtfError::LongString { offset: 1 }));
}

#[test]
fn whether_a_string_is_too_long_does_not_depend_on_its_place() {
    // Deduplication and sorting move strings. What they read, they must be able to write.
    for before in [1, 2, 100, STRING_BYTES / 2, STRING_BYTES - 2] {
        assert!(named(&[before, STRING_BYTES - 1]).is_ok(), "{before}");
        let offset = before + 2;
        assert_eq!(named(&[before, STRING_BYTES]).err(), Some(BtfError::LongString { offset }), "{before}");
    }
}
