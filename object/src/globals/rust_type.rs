//! Descriptions of Rust types, for comparison with a variable's C type.

/// The properties of a plain-old-data type that are compared with a C type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// The kind of the value, or of an array's innermost elements.
    pub element: Element,
    /// The size of the value or innermost element, in bytes.
    pub element_size: usize,
    /// Whether the type is an array.
    pub is_array: bool,
    /// The members of a struct, or of an array's elements; `None` if they are unknown.
    pub members: Option<&'static [MemberShape]>,
}

/// A member of a Rust struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberShape {
    /// The name.
    pub name: &'static str,
    /// The offset in the struct, in bytes.
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
    /// The type's shape.
    pub shape: Shape,
}

impl MemberShape {
    /// Creates the description of a member.
    pub const fn new(name: &'static str, offset: usize, size: usize, shape: Shape) -> Self {
        Self { name, offset, size, shape }
    }
}

/// The kind of a value that is not an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element {
    /// An unsigned integer.
    Unsigned,
    /// A signed integer.
    Signed,
    /// A truth value: one byte, 0 or 1.
    Bool,
    /// A floating-point number.
    Float,
    /// A struct with any members.
    Record,
}

impl Shape {
    /// Returns the shape of a struct of `size` bytes whose members are unknown.
    pub const fn record(size: usize) -> Self {
        Self::scalar(Element::Record, size)
    }

    /// Returns the shape of a struct of `size` bytes with these members.
    pub const fn with_members(size: usize, members: &'static [MemberShape]) -> Self {
        Self { members: Some(members), ..Self::record(size) }
    }

    /// Returns the shape of a value that is not an array.
    pub const fn scalar(element: Element, size: usize) -> Self {
        Self { element, element_size: size, is_array: false, members: None }
    }

    /// Returns the shape of an array of this shape.
    #[must_use]
    pub const fn array(self) -> Self {
        Self { is_array: true, ..self }
    }

    /// Returns whether this is an array of bytes, which fits any variable.
    pub const fn is_bytes(self) -> bool {
        self.is_array && self.element_size == 1 && matches!(self.element, Element::Unsigned | Element::Signed)
    }
}

/// A Rust type whose values are read from or written to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct RustType {
    /// The type's shape.
    pub shape: Shape,
    /// The size of a value in bytes.
    pub size: usize,
    /// The type's name, for errors.
    pub name: &'static str,
}
