//! The C text of a value (libbpf: `btf_dump__dump_type_data`).

use super::{
    scalar::Scalar,
    visit::{Aggregate, Value, ValueLocation, ValueVisitor},
};
use crate::{
    btf::{format::Kind, text::c_type::CType, view::Type},
    ids::to_usize,
    name::Name,
};
use core::fmt::{self, Display, Formatter, Write as _};

/// The C text of a value: on one line, or, with `{:#}`, one line for each member.
///
/// ```text
/// (struct event){
///     .pid = (int)7,
///     .comm = (char[16])"sh",
///     .addr = (__u8[4])[10, 0, 0, 1],
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ValueText<'v> {
    value: Value<'v>,
    types: bool,
    zeroes: bool,
    indent: usize,
}

impl<'v> Value<'v> {
    /// Returns the value as C text, with options.
    pub fn text(self) -> ValueText<'v> {
        ValueText { value: self, types: true, zeroes: true, indent: 0 }
    }
}

/// Prints as [`text`](Value::text) with types: on one line, or, with `{:#}`, one line for each member.
impl Display for Value<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl ValueText<'_> {
    /// Sets whether the text contains the type of each part. The default is yes.
    #[must_use]
    pub fn types(self, types: bool) -> Self {
        Self { types, ..self }
    }

    /// Sets whether the text contains members that are zero. The default is yes. It always contains the value itself and elements.
    #[must_use]
    pub fn zeroes(self, zeroes: bool) -> Self {
        Self { zeroes, ..self }
    }

    /// Sets the number of tabs before each line except the first, with `{:#}`.
    #[must_use]
    pub fn indent(self, tabs: usize) -> Self {
        Self { indent: tabs, ..self }
    }
}

impl Display for ValueText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let lines = f.alternate();
        let mut writer =
            Writer { f, text: *self, level: self.indent, depth: 0, lines, any: false, inline: 0 };
        self.value.visit(&mut writer)
    }
}

struct Writer<'v, 'f, 'g> {
    f: &'f mut Formatter<'g>,
    text: ValueText<'v>,
    /// The tabs before a line.
    level: usize,
    /// The number of open aggregates.
    depth: usize,
    lines: bool,
    /// Whether the open aggregate already has a part.
    any: bool,
    /// The number of open aggregates with all parts on one line.
    inline: usize,
}

impl Writer<'_, '_, '_> {
    /// Writes the separator, the indentation, the name and the type before a part.
    fn begin(&mut self, location: &ValueLocation<'_>) -> fmt::Result {
        if self.depth > 0 {
            match (self.any, self.breaks()) {
                (true, true) => self.f.write_char(',')?,
                (true, false) => self.f.write_str(", ")?,
                (false, _) => {}
            }
            self.line()?;
        }
        self.any = true;
        if !location.name.is_empty() && location.index.is_none() {
            write!(self.f, ".{} = ", location.name)?;
        }
        // The type of a variable is its target. The type of an element is part of the array's.
        if self.text.types && location.index.is_none() {
            match location.btf.ty(location.ty).filter(|ty| ty.kind() == Kind::Var).and_then(Type::target) {
                Some(target) => write!(self.f, "({})", CType::new(location.btf, target))?,
                None => write!(self.f, "({})", CType::new(location.btf, location.ty))?,
            }
        }
        Ok(())
    }

    fn breaks(&self) -> bool {
        self.lines && self.inline == 0
    }

    fn line(&mut self) -> fmt::Result {
        if !self.breaks() {
            return Ok(());
        }
        self.f.write_char('\n')?;
        (0..self.level).try_for_each(|_| self.f.write_char('\t'))
    }
}

impl ValueVisitor for Writer<'_, '_, '_> {
    type Error = fmt::Error;

    fn open(&mut self, location: &ValueLocation<'_>, aggregate: Aggregate) -> fmt::Result {
        self.begin(location)?;
        self.f.write_char(if matches!(aggregate, Aggregate::Array { .. }) { '[' } else { '{' })?;
        self.depth = self.depth.saturating_add(1);
        self.level = self.level.saturating_add(1);
        self.any = false;
        if self.inline > 0 || matches!(aggregate, Aggregate::Array { of_aggregates: false, .. }) {
            self.inline = self.inline.saturating_add(1);
        }
        Ok(())
    }

    fn close(&mut self, aggregate: Aggregate) -> fmt::Result {
        let breaks = self.breaks() && self.any;
        self.inline = self.inline.saturating_sub(1);
        self.depth = self.depth.saturating_sub(1);
        self.level = self.level.saturating_sub(1);
        if breaks {
            self.f.write_char(',')?;
            self.line()?;
        }
        self.any = true;
        self.f.write_char(if matches!(aggregate, Aggregate::Array { .. }) { ']' } else { '}' })
    }

    fn scalar(&mut self, location: &ValueLocation<'_>, scalar: Scalar<'_>) -> fmt::Result {
        if !self.text.zeroes && self.depth > 0 && location.index.is_none() && scalar.is_zero() {
            return Ok(());
        }
        self.begin(location)?;
        write!(self.f, "{scalar}")
    }
}

impl Display for Scalar<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unsigned(v) if v > u64::MAX.into() => write!(f, "{v:#x}"),
            Self::Unsigned(v) => write!(f, "{v}"),
            Self::Signed(v) => write!(f, "{v}"),
            Self::Bool(v) => write!(f, "{v}"),
            Self::Char(v) if v.is_ascii_graphic() || v == b' ' => write!(f, "'{}'", escaped(v, '\'')),
            Self::Char(v) => write!(f, "{v}"),
            Self::Float(v) => write!(f, "{v:?}"),
            Self::Pointer(v) => write!(f, "{v:#x}"),
            Self::Enum(v) => match (v.name(), v.flags()) {
                (Some(name), _) => write!(f, "{name}"),
                (None, Some((names, rest))) => flags(f, names, rest),
                (None, None) => write!(f, "{}", v.value()),
            },
            Self::Text { len, .. } => {
                let text = self.c_str().unwrap_or_default();
                f.write_char('"')?;
                text.iter().try_for_each(|b| write!(f, "{}", escaped(*b, '"')))?;
                f.write_char('"')?;
                let Self::Text { bytes, .. } = self else { return Ok(()) };
                if to_usize(len) > bytes.len() { f.write_str("<cut off>") } else { Ok(()) }
            }
            Self::Raw([]) => f.write_str("<no value>"),
            Self::Raw(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
            }
            Self::CutOff => f.write_str("<cut off>"),
            Self::Omitted => f.write_str("..."),
        }
    }
}

fn flags<'n>(f: &mut Formatter<'_>, mut names: impl Iterator<Item = Name<'n>>, rest: u64) -> fmt::Result {
    if let Some(first) = names.next() {
        write!(f, "{first}")?;
    }
    names.try_for_each(|name| write!(f, " | {name}"))?;
    if rest == 0 { Ok(()) } else { write!(f, " | {rest:#x}") }
}

/// Returns the escaped form of a byte between quotes.
fn escaped(byte: u8, quote: char) -> Escaped {
    Escaped { byte, quote }
}

struct Escaped {
    byte: u8,
    quote: char,
}

impl Display for Escaped {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let char = char::from(self.byte);
        match self.byte {
            b'\n' => f.write_str("\\n"),
            b'\t' => f.write_str("\\t"),
            b'\\' => f.write_str("\\\\"),
            _ if char == self.quote => write!(f, "\\{char}"),
            b' '..=b'~' => f.write_char(char),
            byte => write!(f, "\\x{byte:02x}"),
        }
    }
}
