//! Values as libbpf prints them, from the parts that core-relo visits.

use core_relo::{
    TypeId,
    btf::{Aggregate, Btf, CType, Kind, Scalar, Type, ValueLocation, ValueVisitor},
};
use core_relo_tests::libbpf::ValueStyle;
use std::convert::Infallible;

/// Returns a type in libbpf's notation: without `const` and `volatile`, and `char(*)[2]` for `char (*)[2]`.
fn libbpf_type(c_type: &str) -> String {
    let mut text = c_type.replace(" {...}", "").replace(" (*)[", "(*)[").replace(" (**)[", "(**)[");
    for modifier in ["const", "volatile"] {
        for (word, without) in [(format!("{modifier} "), ""), (format!("*{modifier}"), "*")] {
            text = text.replace(&word, without);
        }
    }
    text
}

/// A part of a value, as core-relo visits it.
struct Part {
    name: String,
    c_type: String,
    content: Content,
}

enum Content {
    Parts {
        is_array: bool,
        has_byte_elements: bool,
        parts: Vec<Part>,
    },
    /// An integer of one byte, which libbpf may print as a character.
    Byte {
        byte: u8,
        number: String,
    },
    Number {
        text: String,
        is_zero: bool,
        has_comma: bool,
    },
    /// The data ends before the part.
    CutOff,
}

/// Prints the parts by libbpf's rules.
pub(super) struct Model {
    style: ValueStyle,
    out: String,
    depth: usize,
    in_array: bool,
    /// Whether an array of bytes was begun. libbpf never resets it.
    has_byte_array: bool,
    /// Whether the NUL of a text was printed.
    is_terminated: bool,
}

/// The data ends.
struct Ends;

impl Model {
    /// Returns the text of a value, or its start if the data ends early.
    pub(super) fn render(
        btf: &Btf<'_>,
        ty: TypeId,
        bytes: &[u8],
        style: ValueStyle,
    ) -> Result<String, String> {
        let parts = Parts::of(btf, ty, bytes);
        let mut model = Self {
            style,
            out: String::new(),
            depth: 0,
            in_array: false,
            has_byte_array: false,
            is_terminated: false,
        };
        match model.part(&parts.finished.unwrap()) {
            Ok(()) => Ok(model.out),
            Err(Ends) => Err(model.out),
        }
    }

    fn part(&mut self, part: &Part) -> Result<(), Ends> {
        if matches!(part.content, Content::CutOff) {
            return Err(Ends);
        }
        let shows_zero = self.style.emit_zeroes || self.depth == 0 || (self.in_array && !self.has_byte_array);
        if !shows_zero && is_zero(part)? {
            return Ok(());
        }
        self.prefix();
        if !self.style.skip_names {
            if !part.name.is_empty() {
                self.out += &format!(".{} = ", part.name);
            }
            // libbpf prints no types in arrays, also not those of the members of elements.
            if !self.in_array {
                self.out += &format!("({})", libbpf_type(&part.c_type));
            }
        }
        match &part.content {
            Content::Byte { byte, .. } if self.has_byte_array && !self.is_terminated && *byte == 0 => {
                self.value("'\\0'");
                self.is_terminated = true;
            }
            // libbpf also leaves out the bytes after the array.
            Content::Byte { .. } if self.has_byte_array && self.is_terminated => {}
            Content::Byte { byte, .. } if self.has_byte_array && matches!(byte, b' '..=b'~') => {
                self.value(&format!("'{}'", char::from(*byte)));
            }
            Content::Byte { number, .. } => self.value(number),
            Content::Number { text, has_comma: true, .. } => self.value(text),
            Content::Number { text, .. } => self.out += text,
            Content::Parts { is_array: true, has_byte_elements, parts } => {
                self.has_byte_array |= has_byte_elements;
                self.array(parts)?;
            }
            Content::Parts { parts, .. } => {
                self.depth += 1;
                self.out.push('{');
                self.newline();
                parts.iter().try_for_each(|part| self.part(part))?;
                self.depth -= 1;
                self.prefix();
                self.value("}");
            }
            Content::CutOff => {}
        }
        Ok(())
    }

    fn array(&mut self, parts: &[Part]) -> Result<(), Ends> {
        self.depth += 1;
        self.out.push('[');
        self.newline();
        let outer = (self.in_array, self.is_terminated);
        (self.in_array, self.is_terminated) = (true, false);
        for part in parts {
            if self.is_terminated {
                break;
            }
            self.part(part)?;
        }
        (self.in_array, self.is_terminated) = outer;
        self.depth -= 1;
        self.prefix();
        self.value("]");
        Ok(())
    }

    fn value(&mut self, text: &str) {
        self.out += text;
        if self.depth > 0 {
            self.out.push(',');
        }
        self.newline();
    }

    fn newline(&mut self) {
        if !self.style.compact && self.depth > 0 {
            self.out.push('\n');
        }
    }

    fn prefix(&mut self) {
        if !self.style.compact {
            self.out += &"\t".repeat(self.depth);
        }
    }
}

/// Returns whether libbpf takes a part for zero. Of a struct or union, libbpf looks only at the first member.
fn is_zero(part: &Part) -> Result<bool, Ends> {
    match &part.content {
        Content::CutOff => Err(Ends),
        Content::Byte { byte, .. } => Ok(*byte == 0),
        Content::Number { is_zero, .. } => Ok(*is_zero),
        Content::Parts { is_array: false, parts, .. } => parts.first().map_or(Ok(true), is_zero),
        Content::Parts { has_byte_elements: true, parts, .. } => parts.first().map_or(Ok(true), is_zero),
        Content::Parts { parts, .. } => {
            for part in parts {
                if !is_zero(part)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// Builds the parts during a visit.
pub(super) struct Parts {
    open: Vec<(Part, Option<TypeId>)>,
    finished: Option<Part>,
    pub(super) has_enum_bitfield: bool,
}

impl Parts {
    pub(super) fn of(btf: &Btf<'_>, ty: TypeId, bytes: &[u8]) -> Self {
        let mut parts = Self { open: Vec::new(), finished: None, has_enum_bitfield: false };
        let Ok(()) = btf.value(ty, bytes).visit(&mut parts);
        parts
    }

    fn add(&mut self, part: Part) {
        match self.open.last_mut() {
            Some((Part { content: Content::Parts { parts, .. }, .. }, _)) => parts.push(part),
            _ => self.finished = Some(part),
        }
    }

    /// Returns the width of the bitfield that is visited next.
    fn bitfield_bits(&self, btf: &Btf<'_>) -> Option<u64> {
        let (Part { content: Content::Parts { parts, .. }, .. }, Some(composite)) = self.open.last()? else {
            return None;
        };
        let member = btf.ty(*composite)?.members().nth(parts.len())?;
        btf.member_extent(&member).ok().filter(|extent| extent.is_bitfield).map(|extent| extent.bits)
    }
}

fn part(at: &ValueLocation<'_>, content: Content) -> Part {
    Part { name: at.name.to_string(), c_type: CType::new(at.btf, at.ty).to_string(), content }
}

/// Returns the size of an array's elements that are integers.
fn has_byte_elements(at: &ValueLocation<'_>) -> bool {
    let array = at.btf.strip(at.ty).ok().and_then(Type::array);
    let element = array.and_then(|array| at.btf.strip(array.element).ok());
    element.is_some_and(|ty| ty.kind() == Kind::Int && ty.size().is_some_and(|size| size.0 == 1))
}

fn byte(at: &ValueLocation<'_>, byte: u8) -> Content {
    let mut ty = at.btf.strip(at.ty).unwrap();
    if let Some(array) = ty.array() {
        ty = at.btf.strip(array.element).unwrap();
    }
    let is_signed = ty.int().unwrap().is_signed();
    let number = if is_signed { byte.cast_signed().to_string() } else { byte.to_string() };
    Content::Byte { byte, number }
}

impl ValueVisitor for Parts {
    type Error = Infallible;

    fn open(&mut self, at: &ValueLocation<'_>, aggregate: Aggregate) -> Result<(), Infallible> {
        let is_array = matches!(aggregate, Aggregate::Array { .. });
        let has_byte_elements = is_array && has_byte_elements(at);
        let composite = (!is_array).then(|| at.btf.strip(at.ty).unwrap().id());
        self.open
            .push((part(at, Content::Parts { is_array, has_byte_elements, parts: Vec::new() }), composite));
        Ok(())
    }

    fn close(&mut self, _: Aggregate) -> Result<(), Infallible> {
        let (part, _) = self.open.pop().unwrap();
        self.add(part);
        Ok(())
    }

    fn scalar(&mut self, at: &ValueLocation<'_>, scalar: Scalar<'_>) -> Result<(), Infallible> {
        let ty = at.btf.strip(at.ty).unwrap();
        let size = at.btf.size_of(ty.id()).map_or(0, |size| size.0);
        let bits = self.bitfield_bits(at.btf);
        let mask = |v: i128| match bits {
            Some(bits) => v.cast_unsigned() & (u128::MAX >> (128 - bits)),
            None => v.cast_unsigned(),
        };
        let number = |v: i128| {
            let text = match (bits, size) {
                (Some(_), _) | (None, 16) => format!("{:#x}", mask(v)),
                _ => v.to_string(),
            };
            Content::Number { text, is_zero: v == 0, has_comma: true }
        };
        let content = match scalar {
            Scalar::Unsigned(v) if size == 1 && bits.is_none() => byte(at, u8::try_from(v).unwrap()),
            Scalar::Signed(v) if size == 1 && bits.is_none() => {
                byte(at, i8::try_from(v).unwrap().cast_unsigned())
            }
            Scalar::Bool(v) if size == 1 && bits.is_none() => byte(at, v.into()),
            Scalar::Char(v) if bits.is_none() => byte(at, v),
            Scalar::Unsigned(v) => number(v.cast_signed()),
            Scalar::Signed(v) => number(v),
            Scalar::Bool(v) => number(v.into()),
            Scalar::Char(v) => number(v.into()),
            Scalar::Pointer(v) => {
                Content::Number { text: format!("{v:#x}"), is_zero: v == 0, has_comma: true }
            }
            Scalar::Float(v) => {
                Content::Number { text: format!("{v:.6}"), is_zero: scalar.is_zero(), has_comma: true }
            }
            Scalar::Enum(v) => {
                self.has_enum_bitfield |= bits.is_some();
                let is_signed = ty.kflag();
                let unnamed = if bits.is_some() { mask(v.value()).cast_signed() } else { v.value() };
                let suffix = match (ty.kind(), is_signed) {
                    (Kind::Enum64, true) => "LL",
                    (Kind::Enum64, false) => "ULL",
                    _ => "",
                };
                match v.name() {
                    Some(name) => {
                        Content::Number { text: name.to_string(), is_zero: v.value() == 0, has_comma: true }
                    }
                    // libbpf forgets the comma after a signed value.
                    None => Content::Number {
                        text: format!("{unnamed}{suffix}"),
                        is_zero: v.value() == 0,
                        has_comma: !is_signed,
                    },
                }
            }
            Scalar::Text { bytes, len } => {
                let mut parts: Vec<_> = bytes
                    .iter()
                    .map(|b| Part { name: String::new(), c_type: String::new(), content: byte(at, *b) })
                    .collect();
                if bytes.len() < usize::try_from(len).unwrap() {
                    parts.push(Part { name: String::new(), c_type: String::new(), content: Content::CutOff });
                }
                Content::Parts { is_array: true, has_byte_elements: true, parts }
            }
            Scalar::CutOff | Scalar::Raw([]) => Content::CutOff,
            other => Content::Number { text: other.to_string(), is_zero: false, has_comma: true },
        };
        self.add(part(at, content));
        Ok(())
    }
}
