//! Types for the tests of values.
#![cfg(test)]

use crate::{
    endian::Endian,
    format::Kind,
    ids::TypeId,
    parse::Btf,
    write::{Builder, BuiltMember},
};

/// The size of [`key_type`] in bytes.
pub(super) const KEY_BYTES: usize = 80;

/// Creates a struct with members of every kind that the key of a map can have, in both byte orders.
pub(super) fn key_type(endian: Endian) -> (Btf<'static>, TypeId) {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    let [char, byte] =
        [("char", Builder::SIGNED), ("unsigned char", 0)].map(|(name, sign)| b.int(name, 1, sign));
    let [comm, address] = [char, byte].map(|ty| b.array(ty, int, 4));
    let mode = b.enumeration("mode", 4, &[("A", 1), ("B", 2), ("C", 4), ("D", 8)]);
    let level = b.signed_enumeration("level", 4, &[("LOW", -1), ("HIGH", 1)]);
    let either = b.union("", 4, &[("word", int, 0), ("bytes", address, 0)]);
    let bool = b.int("_Bool", 1, 4);
    let (pointer, wide) = (b.pointer(TypeId::VOID), b.int("unsigned __int128", 16, 0));
    let [double, long_double] = [("double", 8), ("long double", 16)].map(|(name, size)| b.float(name, size));
    let field = |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
    let members = [
        field("comm", comm, 0, 0),
        field("", either, 32, 0),
        field("mode", mode, 64, 0),
        field("level", level, 96, 0),
        field("low", int, 128, 3),
        field("high", byte, 131, 5),
        field("flag", bool, 136, 0),
        field("p", pointer, 192, 0),
        field("wide", wide, 256, 0),
        field("d", double, 384, 0),
        field("l", long_double, 512, 0),
    ];
    let ty = b.composite(Kind::Struct, "key", 80, &members);
    (Btf::parse(b.finish()).unwrap(), ty)
}
