//! Limits of the string section.

use crate::{
    Endian,
    btf::{Btf, BtfError, Builder},
    limits::STRING_BLOCK,
};

/// A struct with a name of so many bytes.
fn named(len: usize) -> Result<Btf<'static>, BtfError> {
    let mut b = Builder::new(Endian::Little);
    b.structure(&"n".repeat(len), 0, &[]);
    Btf::parse(b.finish())
}

#[test]
fn a_string_longer_than_any_name_is_refused_so_that_sharing_it_costs_no_time() {
    assert!(named(STRING_BLOCK - 2).is_ok());
    assert_eq!(named(2 * STRING_BLOCK).err(), Some(BtfError::LongString { offset: STRING_BLOCK }));
}
