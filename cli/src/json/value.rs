//! A value of a BTF type as JSON: structs and unions as objects, arrays as arrays. docs/json.md describes
//! scalars.

use core_relo::btf::{self, Aggregate, Scalar, ValueLocation, ValueVisitor};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Converts a value.
pub(crate) fn value_to_json(value: &btf::Value<'_>) -> Result<Value, UnbalancedGroups> {
    let mut builder = ValueBuilder { open: Vec::new(), finished: Value::Null };
    value.visit(&mut builder)?;
    Ok(builder.finished)
}

/// The error for a visit that closes more structs, unions and arrays than it opens. It is a defect of the
/// library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("value: a group ends that never began")]
pub(crate) struct UnbalancedGroups;

struct ValueBuilder {
    /// The structs, unions and arrays that are still open, from the outermost.
    open: Vec<OpenGroup>,
    finished: Value,
}

struct OpenGroup {
    name: String,
    /// Whether this is an anonymous member of a struct or union. Its members belong to the outer type, as in
    /// C.
    is_anonymous: bool,
    content: GroupContent,
    /// The last numbers of repeated names.
    repeated: HashMap<String, u64>,
}

/// The elements of an array or the members of a struct or union, as far as they have been visited.
enum GroupContent {
    Array(Vec<Value>),
    Object(Map<String, Value>),
}

impl ValueBuilder {
    /// Adds a value to the innermost open struct, union or array.
    fn add(&mut self, name: String, value: Value) {
        let Some(OpenGroup { content, repeated, .. }) = self.open.last_mut() else {
            self.finished = value;
            return;
        };
        match content {
            GroupContent::Array(elements) => elements.push(value),
            // Static variables of several files may have one name. libbpf numbers repeated names in the same
            // way.
            GroupContent::Object(members) if members.contains_key(&name) => {
                let last = repeated.entry(name.clone()).or_insert(1);
                // A variable may have a numbered name itself.
                let mut numbered =
                    (last.saturating_add(1)..).map(|number| (number, format!("{name}___{number}")));
                if let Some((number, name)) = numbered.find(|(_, name)| !members.contains_key(name)) {
                    *last = number;
                    members.insert(name, value);
                }
            }
            GroupContent::Object(members) => {
                members.insert(name, value);
            }
        }
    }
}

impl ValueVisitor for ValueBuilder {
    type Error = UnbalancedGroups;

    fn open(&mut self, at: &ValueLocation<'_>, group: Aggregate) -> Result<(), UnbalancedGroups> {
        let content = match group {
            Aggregate::Array { .. } => GroupContent::Array(Vec::new()),
            _ => GroupContent::Object(Map::new()),
        };
        let outer = self.open.last().map(|group| &group.content);
        let is_member = at.index.is_none() && matches!(outer, Some(GroupContent::Object(_)));
        let is_anonymous = is_member && at.name.is_empty() && matches!(content, GroupContent::Object(_));
        let (name, repeated) = (at.name.to_string(), HashMap::new());
        self.open.push(OpenGroup { name, is_anonymous, content, repeated });
        Ok(())
    }

    fn close(&mut self, _: Aggregate) -> Result<(), UnbalancedGroups> {
        let OpenGroup { name, is_anonymous, content, .. } = self.open.pop().ok_or(UnbalancedGroups)?;
        match content {
            GroupContent::Object(members) if is_anonymous => {
                members.into_iter().for_each(|(name, value)| self.add(name, value));
            }
            GroupContent::Object(members) => self.add(name, Value::Object(members)),
            GroupContent::Array(elements) => self.add(name, Value::Array(elements)),
        }
        Ok(())
    }

    fn scalar(&mut self, at: &ValueLocation<'_>, scalar: Scalar<'_>) -> Result<(), UnbalancedGroups> {
        self.add(at.name.to_string(), scalar_to_json(scalar));
        Ok(())
    }
}

fn scalar_to_json(scalar: Scalar<'_>) -> Value {
    match scalar {
        Scalar::Unsigned(v) => u64::try_from(v).map_or_else(|_| v.to_string().into(), Value::from),
        Scalar::Signed(v) => match (i64::try_from(v), u64::try_from(v)) {
            (Ok(v), _) => v.into(),
            (_, Ok(v)) => v.into(),
            _ => v.to_string().into(),
        },
        Scalar::Bool(v) => v.into(),
        Scalar::Char(v) => v.into(),
        Scalar::Float(v) if v.is_nan() => "NaN".into(),
        Scalar::Float(v) if v.is_infinite() => if v > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        Scalar::Float(v) => v.into(),
        Scalar::Extended(v) => v.to_string().into(),
        Scalar::Enum(v) if v.name().is_none() && v.flags().is_none() => {
            scalar_to_json(Scalar::Signed(v.value()))
        }
        Scalar::Enum(_) | Scalar::Pointer(_) => scalar.to_string().into(),
        Scalar::Text { bytes, .. } => match scalar.c_str().map(std::str::from_utf8) {
            Some(Ok(text)) => text.into(),
            _ => bytes.into(),
        },
        Scalar::Raw(bytes) if !bytes.is_empty() => scalar.to_string().into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use core_relo::{
        Endian, TypeId,
        btf::{Btf, Builder, BuiltMember, Kind, LongDouble, ValueParser},
    };
    use serde_json::json;

    fn json_of(bytes: &[u8], build: impl Fn(&mut Builder) -> TypeId) -> serde_json::Value {
        let mut b = Builder::new(Endian::Little);
        let ty = build(&mut b);
        let btf = Btf::parse(b.finish()).unwrap();
        super::value_to_json(&btf.value(ty, bytes)).unwrap()
    }

    #[test]
    fn structs_arrays_and_anonymous_members() {
        let build = |b: &mut Builder| {
            let int = b.int("int", 4, Builder::SIGNED);
            let char = b.int("char", 1, Builder::SIGNED);
            let comm = b.array(char, int, 4);
            let pair = b.array(int, int, 2);
            let ptr = b.pointer(TypeId::VOID);
            let either = b.union("", 4, &[("a", int, 0), ("b", comm, 0)]);
            b.structure("s", 24, &[("comm", comm, 0), ("pair", pair, 32), ("", either, 96), ("p", ptr, 128)])
        };
        let bytes =
            [b's', b'h', 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0];
        let expected = json!({"comm": "sh", "pair": [1, -1], "a": 255, "b": [255, 0, 0, 0], "p": "0x10"});
        assert_eq!(json_of(&bytes, build), expected);
        assert_eq!(json_of(&bytes[..4], build)["p"], json!(null));
    }

    #[test]
    fn variables_with_the_same_name_are_numbered() {
        let build = |b: &mut Builder| {
            let char = b.int("char", 1, 0);
            let variables = [0u32, 1, 2].map(|at| (b.var("n", char, 0), at, 1));
            b.datasec(".data", 3, &variables)
        };
        assert_eq!(json_of(&[1, 2, 3], build), json!({"n": 1, "n___2": 2, "n___3": 3}));
        let numbered = |b: &mut Builder| {
            let char = b.int("char", 1, 0);
            let variables =
                [("n", 0u32), ("n___2", 1), ("n", 2)].map(|(name, at)| (b.var(name, char, 0), at, 1));
            b.datasec(".data", 3, &variables)
        };
        assert_eq!(json_of(&[1, 2, 3], numbered), json!({"n": 1, "n___2": 2, "n___3": 3}));
    }

    #[test]
    fn scalars() {
        let wide = |b: &mut Builder| b.int("unsigned __int128", 16, 0);
        assert_eq!(json_of(&[255; 16], wide), json!("340282366920938463463374607431768211455"));
        assert_eq!(json_of(&[255; 8], |b| b.int("long", 8, 0)), json!(u64::MAX));
        let state = |b: &mut Builder| b.signed_enumeration("e", 4, &[("ON", 1)]);
        assert_eq!(json_of(&[1, 0, 0, 0], state), json!("ON"));
        assert_eq!(json_of(&[255; 4], state), json!(-1));
        assert_eq!(json_of(&f64::NAN.to_bits().to_le_bytes(), |b| b.float("double", 8)), json!("NaN"));
        let payload = |bits: u64| json_of(&bits.to_le_bytes(), |b| b.float("double", 8));
        assert_eq!(payload(f64::NAN.to_bits() | 1), json!("0x010000000000f87f"));
        assert_eq!(payload(f64::NEG_INFINITY.to_bits()), json!("-Infinity"));
        assert_eq!(json_of(&[1], |b| b.int("_Bool", 1, 4)), json!(true));
        assert_eq!(json_of(&[65], |b| b.int("char", 1, 0)), json!(65));
        assert_eq!(json_of(&[1, 2], |b| b.forward("later", Kind::Struct)), json!("0x0102"));
    }

    /// Types of every kind that a key can have. Returns the id of the struct.
    fn types(endian: Endian) -> (Btf<'static>, TypeId) {
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
        let [double, long_double] =
            [("double", 8), ("long double", 16)].map(|(name, size)| b.float(name, size));
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

    /// What `map dump` prints as JSON, `map update` takes.
    #[test]
    fn json_comes_back() {
        let doubles = [1.5, f64::NAN, f64::NEG_INFINITY, -0.0, 5e-324].map(f64::to_bits);
        let payload = f64::NAN.to_bits() | 1;
        for endian in [Endian::Little, Endian::Big] {
            let (btf, ty) = types(endian);
            let mut state = 7u64;
            for round in 0..400 {
                let mut next = || {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    state
                };
                let mut bytes: Vec<u8> = (0..80).map(|_| next().to_le_bytes()[7]).collect();
                // Padding is zero, and text has no bytes after its end.
                bytes[18..24].fill(0);
                bytes[56..64].fill(0);
                let special =
                    doubles.get(round % 8).copied().unwrap_or(if round % 8 == 5 { payload } else { next() });
                bytes[48..56].copy_from_slice(&endian.u64_bytes(special));
                let value = btf.value(ty, &bytes).long_double(LongDouble::X86);
                let json = super::value_to_json(&value).unwrap();
                if let Some(text) = json["comm"].as_str() {
                    bytes[text.len()..4].fill(0);
                }
                let parser = ValueParser::new(&btf).long_double(LongDouble::X86);
                let parsed = parser.parse(ty, &json.to_string(), vec![0; 80]);
                assert_eq!(parsed.as_ref(), Ok(&bytes), "{endian:?} {json}");
            }
        }
    }
}
