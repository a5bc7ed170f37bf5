//! The shapes of Rust types, for the comparison with a variable's type in C.

/// The shape of a plain-old-data type, as far as types in C can be compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// The kind of the value; of an array, of the innermost elements.
    pub element: Element,
    /// Bytes of that.
    pub element_size: usize,
    /// Whether the type is an array.
    pub is_array: bool,
}

/// The kind of a value that is no array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element {
    /// An integer without sign.
    Unsigned,
    /// An integer with sign.
    Signed,
    /// A truth value: one byte, 0 or 1.
    Bool,
    /// A floating-point number.
    Float,
    /// A struct, of whatever.
    Record,
}

impl Shape {
    /// A struct of so many bytes.
    pub const fn record(size: usize) -> Self {
        Self::scalar(Element::Record, size)
    }

    /// A value without array around it.
    pub const fn scalar(element: Element, size: usize) -> Self {
        Self { element, element_size: size, is_array: false }
    }

    /// An array of these.
    #[must_use]
    pub const fn array(self) -> Self {
        Self { is_array: true, ..self }
    }

    /// Whether this is an array of bytes, which stands for any type.
    pub const fn is_bytes(self) -> bool {
        self.is_array && self.element_size == 1 && matches!(self.element, Element::Unsigned | Element::Signed)
    }
}

/// A Rust type that is to stand for a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct RustType {
    /// The type's shape.
    pub shape: Shape,
    /// Bytes of a value.
    pub size: usize,
    /// The type's name, for errors.
    pub name: &'static str,
}
