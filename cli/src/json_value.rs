//! A value as JSON: structs and unions as objects, arrays as arrays; docs/json.md says what scalars become.

use core_relo::btf::{Aggregate, Scalar, Value as Bytes, ValueLocation, ValueVisitor};
use serde_json::{Map, Value};
use std::convert::Infallible;

/// A value's JSON.
pub(crate) fn of(value: &Bytes<'_>) -> Value {
    let mut maker = Maker { open: Vec::new(), done: Value::Null };
    let Ok(()) = value.visit(&mut maker);
    maker.done
}

struct Maker {
    open: Vec<Part>,
    done: Value,
}

/// A group whose parts are not all there yet.
struct Part {
    name: String,
    /// An anonymous member of a struct or union, whose members count as the outer's, as in C.
    is_anonymous: bool,
    value: Value,
}

impl Maker {
    fn put(&mut self, name: String, value: Value) {
        match self.open.last_mut().map(|part| &mut part.value) {
            None => self.done = value,
            Some(Value::Array(all)) => all.push(value),
            Some(Value::Object(all)) => {
                all.insert(name, value);
            }
            Some(_) => {}
        }
    }
}

impl ValueVisitor for Maker {
    type Error = Infallible;

    fn open(&mut self, at: &ValueLocation<'_>, group: Aggregate) -> Result<(), Infallible> {
        let value = match group {
            Aggregate::Array { .. } => Value::Array(Vec::new()),
            _ => Value::Object(Map::new()),
        };
        let is_member = at.index.is_none() && self.open.last().is_some_and(|part| part.value.is_object());
        let is_anonymous = is_member && at.name.is_empty() && value.is_object();
        self.open.push(Part { name: at.name.to_string(), is_anonymous, value });
        Ok(())
    }

    fn close(&mut self, _: Aggregate) -> Result<(), Infallible> {
        match self.open.pop() {
            Some(Part { is_anonymous: true, value: Value::Object(members), .. }) => {
                members.into_iter().for_each(|(name, value)| self.put(name, value));
            }
            Some(Part { name, value, .. }) => self.put(name, value),
            None => {}
        }
        Ok(())
    }

    fn scalar(&mut self, at: &ValueLocation<'_>, scalar: Scalar<'_>) -> Result<(), Infallible> {
        self.put(at.name.to_string(), of_scalar(scalar));
        Ok(())
    }
}

fn of_scalar(scalar: Scalar<'_>) -> Value {
    match scalar {
        Scalar::Unsigned(v) => u64::try_from(v).map_or_else(|_| v.to_string().into(), Value::from),
        Scalar::Signed(v) => match (i64::try_from(v), u64::try_from(v)) {
            (Ok(v), _) => v.into(),
            (_, Ok(v)) => v.into(),
            _ => v.to_string().into(),
        },
        Scalar::Bool(v) => v.into(),
        Scalar::Char(v) => v.into(),
        Scalar::Float(v) => v.into(),
        Scalar::Enum(v) if v.name().is_none() && v.flags().is_none() => of_scalar(Scalar::Signed(v.value())),
        Scalar::Enum(_) | Scalar::Pointer(_) => scalar.to_string().into(),
        Scalar::Text { bytes, .. } => match std::str::from_utf8(scalar.c_str().unwrap_or_default()) {
            Ok(text) => text.into(),
            Err(_) => bytes.into(),
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
        btf::{Btf, Builder},
    };
    use serde_json::json;

    fn of(bytes: &[u8], build: impl Fn(&mut Builder) -> TypeId) -> serde_json::Value {
        let mut b = Builder::new(Endian::Little);
        let ty = build(&mut b);
        let btf = Btf::parse(b.finish()).unwrap();
        super::of(&btf.value(ty, bytes))
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
        assert_eq!(of(&bytes, build), expected);
        assert_eq!(of(&bytes[..4], build)["p"], json!(null));
    }

    #[test]
    fn scalars() {
        let wide = |b: &mut Builder| b.int("unsigned __int128", 16, 0);
        assert_eq!(of(&[255; 16], wide), json!("340282366920938463463374607431768211455"));
        assert_eq!(of(&[255; 8], |b| b.int("long", 8, 0)), json!(u64::MAX));
        let state = |b: &mut Builder| b.enumeration("e", 4, true, &[("ON", 1)]);
        assert_eq!(of(&[1, 0, 0, 0], state), json!("ON"));
        assert_eq!(of(&[255; 4], state), json!(-1));
        assert_eq!(of(&f64::NAN.to_bits().to_le_bytes(), |b| b.float("double", 8)), json!(null));
        assert_eq!(of(&[1], |b| b.int("_Bool", 1, 4)), json!(true));
        assert_eq!(of(&[65], |b| b.int("char", 1, 0)), json!(65));
        assert_eq!(of(&[1, 2], |b| b.forward("later", false)), json!("0x0102"));
    }
}
