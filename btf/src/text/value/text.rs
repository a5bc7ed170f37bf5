//! The C text of a value (libbpf: `btf_dump__dump_type_data`).

use super::{
    scalar::{Scalar, before_nul},
    visit::{Aggregate, Value, ValueLocation, ValueVisitor},
};
use crate::{format::Kind, ids::to_usize, name::Name, text::c_type::CType, view::Type};
use alloc::{string::String, vec::Vec};
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
    names: bool,
    zeroes: bool,
    indent: usize,
    indent_unit: &'v str,
}

impl<'v> Value<'v> {
    /// Returns the value as C text, with options.
    pub fn text(self) -> ValueText<'v> {
        ValueText { value: self, types: true, names: true, zeroes: true, indent: 0, indent_unit: "\t" }
    }
}

/// Prints as [`text`](Value::text) with types: on one line, or, with `{:#}`, one line for each member.
impl Display for Value<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl<'v> ValueText<'v> {
    /// Sets whether the text contains the type of each part. The default is yes.
    #[must_use]
    pub fn types(self, types: bool) -> Self {
        Self { types, ..self }
    }

    /// Sets whether the text contains the names of members. The default is yes.
    #[must_use]
    pub fn names(self, names: bool) -> Self {
        Self { names, ..self }
    }

    /// Sets whether the text contains members that are zero, and those whose parts are all zero. The default
    /// is yes. The text always contains the value itself. An array with an element that is not zero contains
    /// all elements.
    #[must_use]
    pub fn zeroes(self, zeroes: bool) -> Self {
        Self { zeroes, ..self }
    }

    /// Sets the number of indentations before each line except the first, with `{:#}`.
    #[must_use]
    pub fn indent(self, level: usize) -> Self {
        Self { indent: level, ..self }
    }

    /// Sets the text of one indentation, with `{:#}`. The default is a tab.
    #[must_use]
    pub fn indent_unit(self, unit: &'v str) -> Self {
        Self { indent_unit: unit, ..self }
    }
}

impl Display for ValueText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (lines, zeroes) = (f.alternate(), self.zeroes);
        let stream = Output::Stream(f);
        let mut writer = Writer {
            out: if zeroes { stream } else { Output::Buffer(String::new()) },
            text: *self,
            depth: 0,
            lines,
            any: false,
            inline: 0,
            open: Vec::new(),
        };
        self.value.visit(&mut writer)?;
        match writer.out {
            Output::Stream(_) => Ok(()),
            Output::Buffer(text) => f.write_str(&text),
        }
    }
}

/// The destination of the text. A buffer allows to remove the text of an aggregate, which is known to be zero
/// only at its end.
enum Output<'f, 'g> {
    Stream(&'f mut Formatter<'g>),
    Buffer(String),
}

impl fmt::Write for Output<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match self {
            Self::Stream(f) => f.write_str(text),
            Self::Buffer(buffer) => buffer.write_str(text),
        }
    }
}

/// An open aggregate in a text without zeroes.
struct OpenAggregate {
    /// The length of the buffer before the aggregate.
    start: usize,
    /// Whether the aggregate around this one had a part before it.
    any_before: bool,
    /// Whether the aggregate may be left out: it is a member.
    is_member: bool,
    /// Whether a part is not zero.
    is_nonzero: bool,
}

struct Writer<'v, 'f, 'g> {
    out: Output<'f, 'g>,
    text: ValueText<'v>,
    /// The number of open aggregates.
    depth: usize,
    lines: bool,
    /// Whether the open aggregate already has a part.
    any: bool,
    /// The number of open aggregates with all parts on one line.
    inline: usize,
    /// The open aggregates, if the text has no zeroes.
    open: Vec<OpenAggregate>,
}

impl Writer<'_, '_, '_> {
    /// Writes the separator, the indentation, the name and the type before a part.
    fn begin(&mut self, location: &ValueLocation<'_>) -> fmt::Result {
        if self.depth > 0 {
            match (self.any, self.breaks()) {
                (true, true) => self.out.write_char(',')?,
                (true, false) => self.out.write_str(", ")?,
                (false, _) => {}
            }
            self.line()?;
        }
        self.any = true;
        if self.text.names && !location.name.is_empty() && location.index.is_none() {
            write!(self.out, ".{} = ", location.name)?;
        }
        // The type of a variable is its target. The type of an element is part of the array's.
        if self.text.types && location.index.is_none() {
            match location.btf.ty(location.ty).filter(|ty| ty.kind() == Kind::Var).and_then(Type::target) {
                Some(target) => write!(self.out, "({})", CType::new(location.btf, target))?,
                None => write!(self.out, "({})", CType::new(location.btf, location.ty))?,
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
        self.out.write_char('\n')?;
        (0..self.text.indent).chain(0..self.depth).try_for_each(|_| self.out.write_str(self.text.indent_unit))
    }

    /// Removes the text of the aggregate that ends, if it is a member and all its parts are zero. Returns
    /// whether it did.
    fn remove_zero_aggregate(&mut self) -> bool {
        let (Output::Buffer(buffer), Some(ended)) = (&mut self.out, self.open.pop()) else { return false };
        if ended.is_member && !ended.is_nonzero {
            buffer.truncate(ended.start);
            self.any = ended.any_before;
            return true;
        }
        if let Some(outer) = self.open.last_mut() {
            outer.is_nonzero |= ended.is_nonzero;
        }
        false
    }
}

impl ValueVisitor for Writer<'_, '_, '_> {
    type Error = fmt::Error;

    #[expect(clippy::arithmetic_side_effects, reason = "values nest at most a limited number of levels")]
    fn open(&mut self, location: &ValueLocation<'_>, aggregate: Aggregate) -> fmt::Result {
        if let Output::Buffer(buffer) = &self.out {
            self.open.push(OpenAggregate {
                start: buffer.len(),
                any_before: self.any,
                is_member: self.depth > 0 && location.index.is_none(),
                is_nonzero: false,
            });
        }
        self.begin(location)?;
        self.out.write_char(if matches!(aggregate, Aggregate::Array { .. }) { '[' } else { '{' })?;
        self.depth += 1;
        self.any = false;
        if self.inline > 0 || matches!(aggregate, Aggregate::Array { of_aggregates: false, .. }) {
            self.inline += 1;
        }
        Ok(())
    }

    fn close(&mut self, aggregate: Aggregate) -> fmt::Result {
        let breaks = self.breaks() && self.any;
        self.inline = self.inline.saturating_sub(1);
        self.depth = self.depth.saturating_sub(1);
        if self.remove_zero_aggregate() {
            return Ok(());
        }
        if breaks {
            self.out.write_char(',')?;
            self.line()?;
        }
        self.any = true;
        self.out.write_char(if matches!(aggregate, Aggregate::Array { .. }) { ']' } else { '}' })
    }

    fn scalar(&mut self, location: &ValueLocation<'_>, scalar: Scalar<'_>) -> fmt::Result {
        if !self.text.zeroes {
            let is_zero = scalar.is_zero();
            if let Some(aggregate) = self.open.last_mut() {
                aggregate.is_nonzero |= !is_zero;
            }
            if is_zero && self.depth > 0 && location.index.is_none() {
                return Ok(());
            }
        }
        self.begin(location)?;
        write!(self.out, "{scalar}")
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
            Self::Extended(v) => write!(f, "{v}"),
            Self::Pointer(v) => write!(f, "{v:#x}"),
            Self::Enum(v) => match (v.name(), v.flags()) {
                (Some(name), _) => write!(f, "{name}"),
                (None, Some((names, rest))) => flags(f, names, rest),
                (None, None) => write!(f, "{}", v.value()),
            },
            Self::Text { bytes, len } => {
                let text = before_nul(bytes);
                f.write_char('"')?;
                text.iter().try_for_each(|b| write!(f, "{}", escaped(*b, '"')))?;
                f.write_char('"')?;
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
