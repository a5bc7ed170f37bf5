//! Types as JSON, with the keys of `bpftool btf dump -j`.

use crate::{
    format::Kind,
    name::Name,
    view::{Enumerator, Member, Param, SecInfo, Type},
};
use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap},
};

/// Serializes a type with the keys of its kind. Fails if the record has no data for its kind, which parsing
/// excludes.
impl Serialize for Type<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_map(None)?;
        keys.serialize_entry("id", &self.id().0)?;
        keys.serialize_entry("kind", self.kind().name())?;
        keys.serialize_entry("name", &NameOrAnonymous(self.name()))?;
        details(*self, &mut keys)?;
        keys.end()
    }
}

/// Writes the keys that depend on the kind.
fn details<M: SerializeMap>(ty: Type<'_>, keys: &mut M) -> Result<(), M::Error> {
    let incomplete = || M::Error::custom(format_args!("BTF: type {} has no data of its kind", ty.id()));
    let third = ty.size_or_type();
    match ty.kind() {
        Kind::Int => {
            let int = ty.int().ok_or_else(incomplete)?;
            keys.serialize_entry("size", &third)?;
            keys.serialize_entry("bits_offset", &int.offset)?;
            keys.serialize_entry("nr_bits", &int.bits)?;
            keys.serialize_entry("encoding", int.encoding_name())
        }
        Kind::Ptr | Kind::Typedef | Kind::Volatile | Kind::Const | Kind::Restrict | Kind::TypeTag => {
            keys.serialize_entry("type_id", &third)
        }
        Kind::Array => {
            let array = ty.array().ok_or_else(incomplete)?;
            keys.serialize_entry("type_id", &array.element.0)?;
            keys.serialize_entry("index_type_id", &array.index.0)?;
            keys.serialize_entry("nr_elems", &array.nelems)
        }
        Kind::Struct | Kind::Union => {
            keys.serialize_entry("size", &third)?;
            keys.serialize_entry("vlen", &ty.vlen())?;
            keys.serialize_entry("members", &List(ty.members()))
        }
        Kind::Enum | Kind::Enum64 => {
            keys.serialize_entry("encoding", if ty.kflag() { "SIGNED" } else { "UNSIGNED" })?;
            keys.serialize_entry("size", &third)?;
            keys.serialize_entry("vlen", &ty.vlen())?;
            keys.serialize_entry("values", &List(ty.enumerators()))
        }
        Kind::Fwd => keys.serialize_entry("fwd_kind", if ty.kflag() { "union" } else { "struct" }),
        Kind::Func | Kind::Var => {
            ty.linkage().ok_or_else(incomplete)?;
            keys.serialize_entry("type_id", &third)?;
            keys.serialize_entry("linkage", ty.linkage_name())
        }
        Kind::FuncProto => {
            keys.serialize_entry("ret_type_id", &third)?;
            keys.serialize_entry("vlen", &ty.vlen())?;
            keys.serialize_entry("params", &List(ty.params()))
        }
        Kind::Datasec => {
            keys.serialize_entry("size", &third)?;
            keys.serialize_entry("vlen", &ty.vlen())?;
            keys.serialize_entry("vars", &List(ty.secinfos()))
        }
        Kind::Float => keys.serialize_entry("size", &third),
        Kind::DeclTag => {
            let component = ty.component_index().ok_or_else(incomplete)?;
            keys.serialize_entry("type_id", &third)?;
            keys.serialize_entry("component_idx", &component)
        }
        Kind::Void | Kind::Unknown(_) => Ok(()),
    }
}

/// The elements of a type, as an array.
struct List<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for List<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// A name, or `(anon)` in place of an empty one.
struct NameOrAnonymous<'b>(Name<'b>);

impl Serialize for NameOrAnonymous<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_empty() { serializer.serialize_str("(anon)") } else { serializer.collect_str(&self.0) }
    }
}

impl Serialize for Member<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_map(None)?;
        keys.serialize_entry("name", &NameOrAnonymous(self.name))?;
        keys.serialize_entry("type_id", &self.ty.0)?;
        keys.serialize_entry("bits_offset", &self.bit_offset.0)?;
        if self.bitfield_bits > 0 {
            keys.serialize_entry("bitfield_size", &self.bitfield_bits)?;
        }
        keys.end()
    }
}

impl Serialize for Enumerator<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_map(Some(2))?;
        keys.serialize_entry("name", &format_args!("{}", self.name))?;
        if self.signed {
            keys.serialize_entry("val", &self.value.cast_signed())?;
        } else {
            keys.serialize_entry("val", &self.c_value())?;
        }
        keys.end()
    }
}

impl Serialize for Param<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_map(Some(2))?;
        keys.serialize_entry("name", &NameOrAnonymous(self.name))?;
        keys.serialize_entry("type_id", &self.ty.0)?;
        keys.end()
    }
}

impl Serialize for SecInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_map(Some(3))?;
        keys.serialize_entry("type_id", &self.ty.0)?;
        keys.serialize_entry("offset", &self.offset)?;
        keys.serialize_entry("size", &self.size)?;
        keys.end()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Btf, Builder, Endian, ids::TypeId};
    use alloc::{string::String, vec::Vec};

    /// docs/json.md promises the keys, and their order.
    #[test]
    fn types_have_the_keys_of_bpftool() {
        let mut b = Builder::new(Endian::Big);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("s", 4, &[("", int, 0)]);
        b.array(int, int, 7);
        b.var("v", int, 1);
        b.datasec(".data", 4, &[(TypeId(4), 0, 4)]);
        b.decl_tag("tag", TypeId(2), -1);
        let btf = Btf::parse(b.finish()).unwrap();
        let found: Vec<String> = btf.types().map(|ty| serde_json::to_string(&ty).unwrap()).collect();
        let expected = [
            r#"{"id":1,"kind":"INT","name":"int","size":4,"bits_offset":0,"nr_bits":32,"encoding":"SIGNED"}"#,
            concat!(
                r#"{"id":2,"kind":"STRUCT","name":"s","size":4,"vlen":1,"#,
                r#""members":[{"name":"(anon)","type_id":1,"bits_offset":0}]}"#
            ),
            r#"{"id":3,"kind":"ARRAY","name":"(anon)","type_id":1,"index_type_id":1,"nr_elems":7}"#,
            r#"{"id":4,"kind":"VAR","name":"v","type_id":1,"linkage":"global"}"#,
            concat!(
                r#"{"id":5,"kind":"DATASEC","name":".data","size":4,"vlen":1,"#,
                r#""vars":[{"type_id":4,"offset":0,"size":4}]}"#
            ),
            r#"{"id":6,"kind":"DECL_TAG","name":"tag","type_id":2,"component_idx":-1}"#,
        ];
        assert_eq!(found, expected);
    }
}
