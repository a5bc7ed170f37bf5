//! BTF for a kernel that does not know all kinds: each unknown record becomes one of the same length that it knows (libbpf:
//! `bpf_object__sanitize_btf`).

use crate::features::{Feature, Features};
use core_relo::{
    StrOffset, TypeId,
    btf::{Edit, Kind},
};

/// Changes what this kernel would refuse.
pub(super) fn sanitize(edit: &mut Edit, features: &Features) {
    let lacks = |feature| !features.has(feature);
    let no = Lacks {
        function: lacks(Feature::BtfFunc),
        global_function: lacks(Feature::BtfGlobalFunc),
        datasec: lacks(Feature::BtfDatasec),
        qmark: lacks(Feature::BtfQmarkDatasec),
        float: lacks(Feature::BtfFloat),
        decl_tag: lacks(Feature::BtfDeclTag),
        type_tag: lacks(Feature::BtfTypeTag),
        enum64: lacks(Feature::BtfEnum64),
    };
    if no == Lacks::default() {
        return;
    }
    let mut placeholder = None;
    let mut id = TypeId(1);
    // Types that are appended on the way are of kinds that every kernel knows.
    let end = edit.end_id();
    while id < end {
        one(edit, id, no, &mut placeholder);
        id = id.next();
    }
}

/// What a kernel lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a feature")]
struct Lacks {
    function: bool,
    global_function: bool,
    datasec: bool,
    qmark: bool,
    float: bool,
    decl_tag: bool,
    type_tag: bool,
    enum64: bool,
}

fn one(edit: &mut Edit, id: TypeId, no: Lacks, placeholder: &mut Option<TypeId>) {
    let Some(kind) = edit.kind(id) else { return };
    let vlen = edit.vlen(id);
    let name = StrOffset(edit.word(id, Edit::NAME).unwrap_or_default());
    match kind {
        Kind::Var if no.datasec => byte(edit, id),
        Kind::DeclTag if no.decl_tag => byte(edit, id),
        Kind::Datasec if no.datasec => {
            edit.map_string(name, |b| if matches!(b, b'.' | b'?') { b'_' } else { b });
            edit.set_info(id, Kind::Struct, vlen, false);
            for n in 0..vlen {
                let [ty, offset, _] = super::btf_fixup::secinfo(edit, id, n);
                let name = edit.word(TypeId(ty), Edit::NAME).unwrap_or_default();
                super::btf_fixup::put_secinfo(edit, id, n, [name, ty, offset.saturating_mul(8)]);
            }
        }
        Kind::Datasec if no.qmark && edit.name(name).first() == Some(&b'?') => {
            edit.map_string(name, |b| if b == b'?' { b'_' } else { b });
        }
        Kind::FuncProto if no.function => {
            edit.set_info(id, Kind::Enum, vlen, false);
            edit.set(id, Edit::SIZE_OR_TYPE, 4);
        }
        Kind::Func if no.function => edit.set_info(id, Kind::Typedef, 0, false),
        Kind::Func if no.global_function => edit.set_info(id, Kind::Func, 0, false),
        Kind::Float if no.float => {
            edit.set(id, Edit::NAME, 0);
            edit.set_info(id, Kind::Struct, 0, false);
        }
        Kind::TypeTag if no.type_tag => {
            edit.set(id, Edit::NAME, 0);
            edit.set_info(id, Kind::Const, 0, false);
        }
        Kind::Enum if no.enum64 => edit.set_info(id, Kind::Enum, vlen, false),
        Kind::Enum64 if no.enum64 => {
            let of = *placeholder.get_or_insert_with(|| {
                let name = edit.string(b"enum64_placeholder");
                edit.push(name, (Kind::Int, 0, false), &[1, 8])
            });
            edit.set_info(id, Kind::Union, vlen, false);
            for n in 0..vlen {
                let first = n.saturating_mul(3).saturating_add(3);
                edit.set(id, first.saturating_add(1), of.0);
                edit.set(id, first.saturating_add(2), 0);
            }
        }
        _ => {}
    }
}

/// Makes a record of four words an integer of one byte, the size that fits wherever it stands.
fn byte(edit: &mut Edit, id: TypeId) {
    edit.set_info(id, Kind::Int, 0, false);
    edit.set(id, Edit::SIZE_OR_TYPE, 1);
    edit.set(id, 3, 8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{
        Endian,
        btf::{Btf, Builder},
    };

    #[test]
    fn an_old_kernel_gets_kinds_it_knows_of_the_same_size() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, Builder::SIGNED);
            b.float("float", 4);
            let tag = b.type_tag("user", int, false);
            b.pointer(tag);
            let var = b.var("x", int, 1);
            b.datasec("?.data.x", 4, &[(var, 0, 4)]);
            b.decl_tag("t", var, -1, false);
            let proto = b.func_proto(int, &[("a", int)]);
            b.func("f", proto, 1);
            b.enumeration64("e", 8, false, &[("A", 1 << 40)]);
            let btf = Btf::parse(b.finish()).unwrap();
            let mut edit = Edit::new(&btf);
            sanitize(&mut edit, &Features::fixed(|f| f == Feature::Btf));
            let old = Btf::parse(edit.finish()).unwrap();
            let kinds: Vec<_> = old.types().map(|t| t.kind().name()).collect();
            let expected =
                ["INT", "STRUCT", "CONST", "PTR", "INT", "STRUCT", "INT", "ENUM", "TYPEDEF", "UNION", "INT"];
            assert_eq!(kinds, expected);
            let section = old.ty(TypeId(6)).unwrap();
            assert_eq!(section.name().to_string(), "__data_x");
            assert_eq!(section.member(0).unwrap().name.to_string(), "x");

            let mut edit = Edit::new(&btf);
            sanitize(&mut edit, &Features::fixed(|f| f != Feature::BtfQmarkDatasec));
            let newer = Btf::parse(edit.finish()).unwrap();
            assert_eq!(newer.ty(TypeId(6)).unwrap().name().to_string(), "_.data.x");
            assert_eq!(newer.types().count(), btf.types().count());

            let mut edit = Edit::new(&btf);
            sanitize(&mut edit, &Features::newest());
            assert_eq!(edit.finish(), btf.as_bytes());
        }
    }
}
