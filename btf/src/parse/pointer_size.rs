//! The size of a pointer, derived from the types of the BTF (libbpf: `determine_ptr_size`).

use super::{btf::Btf, kind_set::KindSet};
use crate::{
    format::Kind,
    ids::{ByteSize, StrOffset, TypeId},
};
use core::ops::ControlFlow;

/// The spellings of `long` whose size is a pointer's (libbpf: `determine_ptr_size`).
const LONG_SPELLINGS: [&[u8]; 11] = [
    b"long",
    b"long int",
    b"int long",
    b"unsigned long",
    b"long unsigned",
    b"unsigned long int",
    b"unsigned int long",
    b"long unsigned int",
    b"long int unsigned",
    b"int unsigned long",
    b"int long unsigned",
];

/// Returns the pointer size of the base, or the size of the first `long`.
pub(super) fn find(btf: &Btf<'_>) -> Option<ByteSize> {
    if let Some(known) = btf.base().and_then(|base| base.pointer_size) {
        return Some(known);
    }
    find_own_long(btf).map(|(_, size)| size)
}

/// Returns the first own `long` and its size.
fn find_own_long(btf: &Btf<'_>) -> Option<(usize, ByteSize)> {
    let (types, strings, endian) = (btf.types_section(), btf.strings(), btf.endian());
    let size_of_long = |record| {
        let (name, size) = (endian.u32(record, 0)?, endian.u32(record, 8)?);
        let name = strings.name(StrOffset(name))?;
        (matches!(size, 4 | 8) && LONG_SPELLINGS.contains(&name.as_bytes())).then_some(ByteSize(size))
    };
    let found =
        btf.table.visit(types, &KindSet::new([Kind::Int]), |own_index, record| match size_of_long(record) {
            Some(size) => ControlFlow::Break((own_index, size)),
            None => ControlFlow::Continue(()),
        });
    found.break_value()
}

impl Btf<'_> {
    /// Returns the `long` that gives the pointer size: that of the base, or the first own one.
    pub fn find_long(&self) -> Option<TypeId> {
        let in_base = self.base().and_then(|base| base.find_long());
        in_base.or_else(|| find_own_long(self).map(|(own_index, _)| self.id_at(own_index)))
    }
}
