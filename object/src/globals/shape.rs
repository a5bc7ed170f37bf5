//! What a Rust type consists of, for the comparison with a variable's type in C.

/// What a plain-old-data type consists of, as far as types in C can be compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// What it is; of an array (of arrays) what its innermost elements are.
    pub element: Element,
    /// Bytes of that.
    pub element_size: usize,
    /// Whether it is an array.
    pub is_array: bool,
}

/// What a value without array around it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element {
    /// An integer without sign.
    Unsigned,
    /// An integer with sign.
    Signed,
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

    /// Whether it is an array of bytes: anything, unseen.
    pub const fn is_bytes(self) -> bool {
        self.is_array && self.element_size == 1 && matches!(self.element, Element::Unsigned | Element::Signed)
    }
}

/// A Rust type that is to stand for a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct RustType {
    /// What the type consists of.
    pub shape: Shape,
    /// Bytes of a value.
    pub size: usize,
    /// The type's name, for errors.
    pub name: &'static str,
}
