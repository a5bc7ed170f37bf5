//! A type as JSON, by the names that `bpftool btf dump -j` uses.

use core_relo::{
    TypeId,
    btf::{IntInfo, Kind, Type},
};
use serde_json::{Map, Value, json};

/// A type's facts, in bpftool's order.
pub(crate) struct TypeFacts(Map<String, Value>);

impl serde::Serialize for TypeFacts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl TypeFacts {
    pub(crate) fn new(ty: Type<'_>) -> Self {
        let mut facts = Self(Map::new());
        let name = if ty.name().is_empty() { "(anon)".to_owned() } else { ty.name().to_string() };
        facts.put("id", ty.id().0);
        facts.put("kind", ty.kind().name());
        facts.put("name", name);
        facts.of_kind(ty);
        facts
    }

    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    fn put_type(&mut self, key: &str, id: Option<TypeId>) {
        self.put(key, id.map_or(0, |id| id.0));
    }

    fn of_kind(&mut self, ty: Type<'_>) {
        match ty.kind() {
            Kind::Int => self.int(ty),
            Kind::Ptr | Kind::Typedef | Kind::Volatile | Kind::Const | Kind::Restrict | Kind::TypeTag => {
                self.put_type("type_id", ty.target());
            }
            Kind::Array => self.array(ty),
            Kind::Struct | Kind::Union => self.composite(ty),
            Kind::Enum | Kind::Enum64 => self.enumeration(ty),
            Kind::Fwd => self.put("fwd_kind", if ty.kflag() { "union" } else { "struct" }),
            Kind::Func => {
                self.put_type("type_id", ty.target());
                self.put("linkage", linkage(ty.linkage()));
            }
            Kind::FuncProto => {
                self.put_type("ret_type_id", ty.target());
                let params =
                    ty.params().map(|p| json!({"name": anon(p.name.to_string()), "type_id": p.ty.0}));
                let params: Vec<Value> = params.collect();
                self.put("vlen", ty.vlen());
                self.put("params", params);
            }
            Kind::Var => {
                self.put_type("type_id", ty.target());
                self.put("linkage", linkage(ty.linkage()));
            }
            Kind::Datasec => {
                let infos =
                    ty.secinfos().map(|i| json!({"type_id": i.ty.0, "offset": i.offset, "size": i.size}));
                let infos: Vec<Value> = infos.collect();
                self.put("size", ty.size().map_or(0, |s| s.0));
                self.put("vlen", ty.vlen());
                self.put("vars", infos);
            }
            Kind::Float => self.put("size", ty.size().map_or(0, |s| s.0)),
            Kind::DeclTag => {
                self.put_type("type_id", ty.target());
                self.put("component_idx", ty.component_index().unwrap_or(-1));
            }
            _ => {}
        }
    }

    fn int(&mut self, ty: Type<'_>) {
        let Some(int) = ty.int() else { return };
        self.put("size", ty.size().map_or(0, |s| s.0));
        self.put("bits_offset", int.offset);
        self.put("nr_bits", int.bits);
        let encoding = match int.encoding {
            0 => "(none)",
            IntInfo::SIGNED => "SIGNED",
            IntInfo::CHAR => "CHAR",
            IntInfo::BOOL => "BOOL",
            _ => "UNKN",
        };
        self.put("encoding", encoding);
    }

    fn array(&mut self, ty: Type<'_>) {
        let Some(array) = ty.array() else { return };
        self.put("type_id", array.element.0);
        self.put("index_type_id", array.index.0);
        self.put("nr_elems", array.nelems);
    }

    fn composite(&mut self, ty: Type<'_>) {
        let members = ty.members().map(|m| {
            let mut member =
                json!({"name": anon(m.name.to_string()), "type_id": m.ty.0, "bits_offset": m.bit_offset.0});
            if m.bitfield_bits > 0
                && let Some(member) = member.as_object_mut()
            {
                member.insert("bitfield_size".to_owned(), m.bitfield_bits.into());
            }
            member
        });
        let members: Vec<Value> = members.collect();
        self.put("size", ty.size().map_or(0, |s| s.0));
        self.put("vlen", ty.vlen());
        self.put("members", members);
    }

    fn enumeration(&mut self, ty: Type<'_>) {
        let values = ty.enumerators().map(|v| {
            let value: Value = if v.signed { v.value.cast_signed().into() } else { v.c_value().into() };
            json!({"name": v.name.to_string(), "val": value})
        });
        let values: Vec<Value> = values.collect();
        self.put("encoding", if ty.kflag() { "SIGNED" } else { "UNSIGNED" });
        self.put("size", ty.size().map_or(0, |s| s.0));
        self.put("vlen", ty.vlen());
        self.put("values", values);
    }
}

fn anon(name: String) -> String {
    if name.is_empty() { "(anon)".to_owned() } else { name }
}

fn linkage(linkage: Option<u32>) -> &'static str {
    match linkage {
        Some(0) => "static",
        Some(1) => "global",
        Some(2) => "extern",
        _ => "(unknown)",
    }
}
