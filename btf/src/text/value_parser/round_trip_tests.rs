//! Values as text, and back.
#![allow(clippy::arithmetic_side_effects, reason = "sizes of a few types")]

use super::{ValueError, ValueParser};
use crate::{
    endian::Endian,
    format::Kind,
    ids::TypeId,
    parse::Btf,
    text::value::LongDouble,
    view::IntInfo,
    write::{Builder, BuiltMember},
};
use alloc::{
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};

/// A seeded generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::try_from(self.below(u64::from(crate::ids::to_u32(values.len())))).unwrap()]
    }
}

/// A type and its size in bytes.
#[derive(Clone, Copy)]
struct SizedType {
    id: TypeId,
    bytes: u32,
}

/// A generator of types. Members have different names.
struct Types<'r> {
    builder: Builder,
    random: &'r mut Random,
    names: u32,
}

impl Types<'_> {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    fn scalar(&mut self) -> SizedType {
        let name = self.name();
        let bytes = self.random.pick(&[1, 2, 4, 8]);
        let b = &mut self.builder;
        let (id, bytes) = match self.random.below(12) {
            0 => (b.int("char", 1, IntInfo::SIGNED), 1),
            1 => (b.int("_Bool", 1, IntInfo::BOOL), 1),
            2 => (b.int("__int128", 16, IntInfo::SIGNED), 16),
            3 => (b.int("unsigned __int128", 16, 0), 16),
            4 => (b.pointer(TypeId::VOID), 8),
            5 => (b.float("float", 4), 4),
            6 => (b.float("double", 8), 8),
            7 => (b.float("long double", 16), 16),
            8 => {
                let flags =
                    [("A", 1), ("B", 2), ("C", 4), ("ALL", 7)].map(|(n, v)| (format!("{name}{n}"), v));
                let flags: Vec<_> = flags.iter().map(|(n, v)| (n.as_str(), *v)).collect();
                let id = match self.random.below(2) {
                    0 => b.signed_enumeration(&name, bytes, &flags),
                    _ => b.enumeration(&name, bytes, &flags),
                };
                (id, bytes)
            }
            9 => (b.legacy_bitfield(&name, 4, IntInfo::SIGNED, 3, 5), 4),
            10 => (b.int(&name, bytes, IntInfo::SIGNED), bytes),
            _ => (b.int(&name, bytes, 0), bytes),
        };
        SizedType { id, bytes }
    }

    fn ty(&mut self, depth: u32) -> SizedType {
        if depth == 0 {
            return self.scalar();
        }
        match self.random.below(5) {
            0 => {
                let index = self.builder.int("index", 4, 0);
                let element = self.ty(depth - 1);
                let len = u32::try_from(self.random.below(5)).unwrap();
                SizedType { id: self.builder.array(element.id, index, len), bytes: element.bytes * len }
            }
            1 => self.composite(Kind::Union, depth),
            2 | 3 => self.composite(Kind::Struct, depth),
            _ => self.scalar(),
        }
    }

    /// Creates a struct or union, whose members may be bitfields, or structs and unions without a name.
    fn composite(&mut self, kind: Kind, depth: u32) -> SizedType {
        let (mut members, mut bytes) = (Vec::new(), 0);
        for _ in 0..=self.random.below(4) {
            let ty = self.ty(depth - 1);
            let start =
                if kind == Kind::Union { 0 } else { bytes + u32::try_from(self.random.below(3)).unwrap() };
            bytes = bytes.max(start + ty.bytes);
            let name = self.name();
            members.push((name, ty.id, start * 8, 0));
        }
        if self.random.below(3) == 0 {
            let int = self.builder.int("unsigned int", 4, 0);
            let start = if kind == Kind::Union { 0 } else { bytes };
            bytes = bytes.max(start + 4);
            for (bit, bits) in [(0, 3), (3, 13), (16, 16)] {
                let name = self.name();
                let bit = if kind == Kind::Union { 0 } else { bit };
                members.push((name, int, start * 8 + bit, bits));
            }
        }
        if self.random.below(3) == 0 {
            let int = self.builder.int("int", 4, IntInfo::SIGNED);
            let char = self.builder.int("char", 1, 0);
            let text = self.builder.array(char, int, 4);
            let names = [self.name(), self.name()];
            let anonymous = self.builder.union("", 4, &[(&*names[0], int, 0), (&*names[1], text, 0)]);
            let start = if kind == Kind::Union { 0 } else { bytes };
            bytes = bytes.max(start + 4);
            members.push((String::new(), anonymous, start * 8, 0));
        }
        let built: Vec<_> = members
            .iter()
            .map(|(name, ty, bit_offset, bits)| BuiltMember {
                name,
                ty: *ty,
                bit_offset: *bit_offset,
                bitfield_bits: *bits,
            })
            .collect();
        SizedType { id: self.builder.composite(kind, "s", bytes, &built), bytes }
    }
}

/// Returns random bytes. Some are numbers that are special in a type: all bits, infinities, NaN.
fn bytes(random: &mut Random, len: usize) -> Vec<u8> {
    let special = [u64::MAX, 0x7ff0 << 48, 0xfff8 << 48, 0x7ff8 << 48, 0x7fc0_0000, 0xff80_0000, 1, 1 << 63];
    let mut bytes = Vec::new();
    while bytes.len() < len {
        let number = if random.below(3) == 0 { random.pick(&special) } else { random.next() };
        bytes.extend(if random.below(2) == 0 { Endian::Little } else { Endian::Big }.u64_bytes(number));
    }
    bytes.truncate(len);
    bytes
}

/// A form in which a value is printed.
#[derive(Clone, Copy, Debug)]
enum TextForm {
    Text,
    TypedText,
    Lines,
}

impl TextForm {
    const ALL: [Self; 3] = [Self::Text, Self::TypedText, Self::Lines];

    fn print(self, btf: &Btf<'_>, ty: TypeId, bytes: &[u8]) -> String {
        let value = btf.value(ty, bytes).long_double(LongDouble::X86);
        match self {
            Self::Text => value.text().types(false).to_string(),
            Self::TypedText => value.text().to_string(),
            Self::Lines => format!("{:#}", value.text().types(false).indent(1)),
        }
    }
}

fn parse(btf: &Btf<'_>, ty: TypeId, text: &str, size: usize) -> Result<Vec<u8>, ValueError> {
    ValueParser::new(btf).long_double(LongDouble::X86).parse(ty, text, vec![0; size])
}

/// Prints bytes, and parses the text.
fn there_and_back(btf: &Btf<'_>, ty: SizedType, form: TextForm, bytes: &[u8]) -> (String, Vec<u8>) {
    let text = form.print(btf, ty.id, bytes);
    let parsed = parse(btf, ty.id, &text, bytes.len()).unwrap_or_else(|e| panic!("{text}: {e}"));
    (text, parsed)
}

#[test]
fn the_text_of_every_type_comes_back() {
    let mut random = Random(38);
    for round in 0..300 {
        let endian = if round % 2 == 0 { Endian::Little } else { Endian::Big };
        let mut types = Types { builder: Builder::new(endian), random: &mut random, names: 0 };
        let ty = types.ty(3);
        let btf = Btf::parse(types.builder.finish()).unwrap();
        if ty.bytes == 0 {
            continue;
        }
        for _ in 0..4 {
            let old = bytes(&mut random, usize::try_from(ty.bytes).unwrap());
            let int = btf.ty(ty.id).unwrap().int();
            if int.is_some_and(|int| int.encoding & IntInfo::BOOL != 0) && old.iter().any(|byte| *byte > 1) {
                // As a word without quotes, the number of such a byte is more likely a mistake.
                continue;
            }
            for form in TextForm::ALL {
                let (text, new) = there_and_back(&btf, ty, form, &old);
                // Padding and the bytes after the end of a text are not printed.
                let (again, last) = there_and_back(&btf, ty, form, &new);
                assert_eq!((&text, &new), (&again, &last), "{endian:?} {form:?}");
            }
        }
    }
}

/// Decimal numbers of a dump are the shortest ones that name the number.
#[test]
fn all_bits_of_numbers_come_back() {
    let mut random = Random(7);
    let mut b = Builder::new(Endian::Little);
    let (float, double, wide) =
        (b.float("float", 4), b.float("double", 8), b.int("__int128", 16, IntInfo::SIGNED));
    let long = b.int("unsigned long", 8, 0);
    let (long_double, short_long_double) = (b.float("long double", 16), b.float("long double", 12));
    let other = b.float("_Float128", 16);
    let holder = b.structure("holder", 4, &[("f", float, 0)]);
    let both = b.union("both", 8, &[("d", double, 0), ("n", long, 0)]);
    let btf = Btf::parse(b.finish()).unwrap();
    let types = [(float, 4), (double, 8), (wide, 16), (both, 8), (long_double, 16), (short_long_double, 12)];
    for _ in 0..1_000 {
        for (id, size) in types {
            let mut old = bytes(&mut random, size);
            if id == long_double || id == short_long_double {
                // The bits of x86 are ten bytes. The first one of the mantissa is that before the point.
                old[10..].fill(0);
                old[7] |= 0x80;
                let decimals = random.below(8);
                old[..usize::try_from(decimals).unwrap().min(6)].fill(0);
            }
            let ty = SizedType { id, bytes: u32::try_from(size).unwrap() };
            for form in TextForm::ALL {
                let (text, new) = there_and_back(&btf, ty, form, &old);
                assert_eq!(old, new, "{text}");
            }
        }
    }
    let ty = SizedType { id: wide, bytes: 16 };
    let least = Endian::Little.u128_bytes(i128::MIN.cast_unsigned());
    for form in TextForm::ALL {
        assert_eq!(there_and_back(&btf, ty, form, &least).1, least);
    }
    let parse = |word: &str, id, size| parse(&btf, id, word, size);
    for (word, id, size) in [("1e39", float, 4), ("1e999", double, 8), (r#"{"f":1e39}"#, holder, 4)] {
        let error = parse(word, id, size).unwrap_err().to_string();
        assert!(error.contains("too large for a float of"), "{error}");
    }
    let three = [&[0; 7][..], &[0xc0, 0, 0x40], &[0; 6]].concat();
    for word in ["3", "3.0", "0x1.8p+1", "\"0x3p0\"", "\"3\""] {
        assert_eq!(parse(word, long_double, 16).as_ref(), Ok(&three), "{word}");
    }
    assert!(parse("3", other, 16).unwrap_err().to_string().contains("hex"));
    assert_eq!(parse("-inf", float, 4), Ok(Endian::Little.u32_bytes(f32::NEG_INFINITY.to_bits()).to_vec()));
    let error = parse(r#"{"d":1,"d":2}"#, both, 8).unwrap_err().to_string();
    assert!(error.contains("the value has the member \"d\" twice"), "{error}");
}
