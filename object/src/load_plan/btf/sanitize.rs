//! Adapts a BTF to a kernel that lacks some kinds: each record of an unknown kind becomes a record of a known
//! kind with the same length (libbpf: `bpf_object__sanitize_btf`).

use super::words::{secinfo, secinfo_word, set_secinfo};
use crate::{
    features::Feature,
    internal::{InternalError, Invariant as _},
};
use core_relo::{
    StrOffset, TypeId,
    btf::{Editor, Kind},
};

/// Returns the ids of the types that a BTF has now.
fn type_ids(edit: &Editor) -> impl Iterator<Item = TypeId> + use<> {
    (1..edit.end_id().0).map(TypeId)
}

/// The BTF features that a kernel lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a feature")]
pub(super) struct MissingFeatures {
    function: bool,
    global_function: bool,
    datasec: bool,
    qmark: bool,
    float: bool,
    decl_tag: bool,
    type_tag: bool,
    enum64: bool,
}

impl MissingFeatures {
    pub(super) fn new(has: impl Fn(Feature) -> bool) -> Self {
        let lacks = |feature| !has(feature);
        Self {
            function: lacks(Feature::BtfFunc),
            global_function: lacks(Feature::BtfGlobalFunc),
            datasec: lacks(Feature::BtfDatasec),
            qmark: lacks(Feature::BtfQmarkDatasec),
            float: lacks(Feature::BtfFloat),
            decl_tag: lacks(Feature::BtfDeclTag),
            type_tag: lacks(Feature::BtfTypeTag),
            enum64: lacks(Feature::BtfEnum64),
        }
    }

    /// Returns whether the kernel gets the BTF as it is.
    pub(super) fn affect_none(self, edit: &Editor) -> bool {
        self == Self::default() || !type_ids(edit).any(|id| self.affect(edit, id))
    }

    /// Replaces the records that the kernel would refuse.
    pub(super) fn sanitize(self, edit: &mut Editor) -> Result<(), InternalError> {
        if self == Self::default() {
            return Ok(());
        }
        let mut placeholder = None;
        // The loop appends only types of kinds that every kernel knows.
        for id in type_ids(edit) {
            if self.affect(edit, id) {
                sanitize_type(edit, id, self, &mut placeholder)?;
            }
        }
        Ok(())
    }

    /// Returns whether the kernel would refuse a record.
    fn affect(self, edit: &Editor, id: TypeId) -> bool {
        match edit.kind(id) {
            Some(Kind::Var) => self.datasec,
            Some(Kind::DeclTag) => self.decl_tag,
            Some(Kind::Datasec) => self.datasec || (self.qmark && begins_with_qmark(edit, id)),
            Some(Kind::FuncProto) => self.function,
            Some(Kind::Func) => self.function || self.global_function,
            Some(Kind::Float) => self.float,
            Some(Kind::TypeTag) => self.type_tag,
            Some(Kind::Enum) => self.enum64 && edit.kflag(id),
            Some(Kind::Enum64) => self.enum64,
            _ => false,
        }
    }
}

/// Returns whether the name of a DATASEC begins with `?`: the section of an optional program or struct_ops
/// map.
fn begins_with_qmark(edit: &Editor, id: TypeId) -> bool {
    let name = edit.word(id, Editor::NAME).map(|name| edit.name(StrOffset(name)));
    name.is_some_and(|name| name.first() == Some(&b'?'))
}

/// Replaces a record that [the missing features affect](MissingFeatures::affect). `placeholder` is the type
/// of members of unions that replace an ENUM64.
fn sanitize_type(
    edit: &mut Editor,
    id: TypeId,
    missing: MissingFeatures,
    placeholder: &mut Option<TypeId>,
) -> Result<(), InternalError> {
    let kind = edit.kind(id).invariant("a type below the last id exists")?;
    let vlen = edit.vlen(id);
    let name = edit.word(id, Editor::NAME).map(StrOffset).invariant("a type has a name word")?;
    match kind {
        Kind::Var if missing.datasec => replace_with_byte(edit, id),
        Kind::DeclTag if missing.decl_tag => replace_with_byte(edit, id),
        Kind::Datasec if missing.datasec => {
            edit.map_string(name, |b| if matches!(b, b'.' | b'?') { b'_' } else { b });
            edit.set_info(id, Kind::Struct, vlen);
            for n in 0..vlen {
                let [ty, offset, _] = secinfo(edit, id, n)?;
                // `void` has no record and no name.
                let name = edit.word(TypeId(ty), Editor::NAME).unwrap_or(0);
                // An offset in bits that exceeds 32 bits saturates. libbpf lets the offset wrap around.
                set_secinfo(edit, id, n, [name, ty, offset.saturating_mul(8)])?;
            }
        }
        Kind::Datasec => {
            edit.map_string(name, |b| if b == b'?' { b'_' } else { b });
        }
        Kind::FuncProto if missing.function => {
            edit.set_info(id, Kind::Enum, vlen);
            edit.set(id, Editor::SIZE_OR_TYPE, 4);
        }
        Kind::Func if missing.function => edit.set_info(id, Kind::Typedef, 0),
        Kind::Func if missing.global_function => edit.set_info(id, Kind::Func, 0),
        Kind::Float if missing.float => {
            edit.set(id, Editor::NAME, 0);
            edit.set_info(id, Kind::Struct, 0);
        }
        Kind::TypeTag if missing.type_tag => {
            edit.set(id, Editor::NAME, 0);
            edit.set_info(id, Kind::Const, 0);
        }
        Kind::Enum if missing.enum64 => edit.set_info(id, Kind::Enum, vlen),
        Kind::Enum64 if missing.enum64 => {
            let member_type = *placeholder.get_or_insert_with(|| {
                let name = edit.string(b"enum64_placeholder");
                edit.push(name, Kind::Int, 0, &[1, 8])
            });
            edit.set_info(id, Kind::Union, vlen);
            for n in 0..vlen {
                edit.set(id, secinfo_word(n, 1)?, member_type.0);
                edit.set(id, secinfo_word(n, 2)?, 0);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Replaces a record of four words by an integer of one byte, which fits in any struct.
fn replace_with_byte(edit: &mut Editor, id: TypeId) {
    edit.set_info(id, Kind::Int, 0);
    edit.set(id, Editor::SIZE_OR_TYPE, 1);
    edit.set(id, 3, 8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{
        Endian,
        btf::{Btf, Builder},
    };

    fn sanitize(edit: &mut Editor, has: impl Fn(Feature) -> bool) {
        MissingFeatures::new(has).sanitize(edit).unwrap();
    }

    #[test]
    fn an_old_kernel_gets_kinds_it_knows_of_the_same_size() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, Builder::SIGNED);
            b.float("float", 4);
            let tag = b.type_tag("user", int);
            b.pointer(tag);
            let var = b.var("x", int, 1);
            b.datasec("?.data.x", 4, &[(var, 0, 4)]);
            b.decl_tag("t", var, -1);
            let proto = b.func_proto(int, &[("a", int)]);
            b.func("f", proto, 1);
            b.enumeration64("e", 8, &[("A", 1 << 40)]);
            let btf = Btf::parse(b.finish()).unwrap();
            let mut edit = Editor::new(&btf);
            sanitize(&mut edit, |f| f == Feature::Btf);
            let old = Btf::parse(edit.finish()).unwrap();
            let kinds: Vec<_> = old.types().map(|t| t.kind().name()).collect();
            let expected =
                ["INT", "STRUCT", "CONST", "PTR", "INT", "STRUCT", "INT", "ENUM", "TYPEDEF", "UNION", "INT"];
            assert_eq!(kinds, expected);
            let section = old.ty(TypeId(6)).unwrap();
            assert_eq!(section.name().to_string(), "__data_x");
            assert_eq!(section.member(0).unwrap().name.to_string(), "x");

            let mut edit = Editor::new(&btf);
            sanitize(&mut edit, |f| f != Feature::BtfQmarkDatasec);
            let newer = Btf::parse(edit.finish()).unwrap();
            assert_eq!(newer.ty(TypeId(6)).unwrap().name().to_string(), "_.data.x");
            assert_eq!(newer.types().count(), btf.types().count());

            let mut edit = Editor::new(&btf);
            sanitize(&mut edit, |_| true);
            assert_eq!(edit.finish(), btf.as_bytes());
        }
    }
}
