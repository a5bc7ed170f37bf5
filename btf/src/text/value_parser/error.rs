//! Why a text is no value of a type.

use crate::view::WalkError;
use alloc::{boxed::Box, format, string::String};
use thiserror::Error;

/// The reason why a text is no value of a type.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A part of the value is wrong.
    #[error("{}: {source}", .path.trim_start_matches('.'))]
    Part {
        /// The path to the part: `.a[3].b`.
        path: String,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// The type cannot be read.
    #[error(transparent)]
    Type(#[from] WalkError),

    /// The text ends within a value.
    #[error("the value ends early")]
    EndsEarly,
    /// The text ends before a character that closes a group or text.
    #[error("the value ends early, expected `{0}`")]
    Unclosed(char),
    /// Another character than the grammar has.
    #[error("`{found}`: expected `{expected}`")]
    NoCharacter {
        /// The beginning of the text there.
        found: String,
        /// The character.
        expected: char,
    },
    /// Text that cannot begin a value, or a part without a name that fits no anonymous member.
    #[error("`{found}`: expected {expected}")]
    Unexpected {
        /// The text, or its beginning.
        found: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// More text after the value.
    #[error("`{0}` follows the end of the value")]
    Trailing(String),
    /// Text that a dump has in place of bytes, `<cut off>` or `...`.
    #[error("`{0}`: the text is not complete, expected all parts")]
    Incomplete(String),
    /// No character, or several, between single quotes.
    #[error("expected one character between `'`")]
    Character,
    /// An escape sequence that neither JSON nor C has.
    #[error("`\\{0}`: unknown escape sequence")]
    Escape(String),
    /// Groups within groups, more than the limit.
    #[error("more than {0} nested groups")]
    TooDeep(u32),

    /// A type of another size than the value.
    #[error("its type has {found} bytes, expected {expected}")]
    OtherSize {
        /// The size of the type, in bytes.
        found: usize,
        /// The size of the value, in bytes.
        expected: usize,
    },
    /// Another type before the value than its own.
    #[error("the text has the type `{found}`, expected `{expected}`")]
    OtherType {
        /// The type in the text.
        found: String,
        /// The type.
        expected: String,
    },
    /// A value of another form than the values of the type.
    #[error("{found} is no value of `{ty}`, expected {expected}")]
    OtherForm {
        /// The value.
        found: String,
        /// The type.
        ty: String,
        /// The form of the type's values.
        expected: &'static str,
    },
    /// A word for a struct, union or data section.
    #[error("{found}: expected a value of `{ty}` as `{{.NAME = VALUE}}` or as JSON, or `hex` and the bytes")]
    NotMembers {
        /// The word.
        found: String,
        /// The type.
        ty: String,
    },
    /// A word that is no value of the type.
    #[error("{found}: no `{ty}`: {source}")]
    NotWord {
        /// The word.
        found: String,
        /// The type.
        ty: String,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// A word for a struct or union that is a part, or that a person types.
    #[error(
        "it is `{0}`: set a member (NAME.MEMBER=VALUE), all as {{.MEMBER = VALUE}}, or give its bytes as hex:…"
    )]
    Composite(String),
    /// A kind of types that has no values.
    #[error("it is {0}: give its bytes in hex")]
    Kind(crate::format::Kind),
    /// An array whose element type is missing.
    #[error("its type is an array without an element type")]
    NoElementType,

    /// A name that the type does not have.
    #[error("`{ty}` has no {part} `{name}`")]
    NoName {
        /// The type.
        ty: String,
        /// `member`, `variable` or `enumerator`.
        part: &'static str,
        /// The name.
        name: String,
    },
    /// A name that several variables of the data section have.
    #[error("`{section}` has several variables `{name}`: give `hex` and the bytes of the section")]
    AmbiguousVariable {
        /// The section.
        section: String,
        /// The name.
        name: String,
    },
    /// A member or variable that the text has twice.
    #[error("the {outer} has the {part} \"{name}\" twice")]
    Repeated {
        /// `value` or `section`.
        outer: &'static str,
        /// `member` or `variable`.
        part: &'static str,
        /// The name.
        name: String,
    },
    /// Other bits than those of another member of the union.
    #[error("contradicts another member of the union: give one of them")]
    Contradiction,
    /// A part after the bytes of the value: the type is damaged.
    #[error("lies after the end of the value")]
    AfterEnd,

    /// More elements than the array has.
    #[error("{found} elements, expected at most {limit}")]
    Elements {
        /// The elements of the text.
        found: usize,
        /// The elements of the array.
        limit: usize,
    },
    /// A list of words with more bytes than the array.
    #[error("the list has more values than the array has elements")]
    LongList,
    /// A text without quotes that is longer than the array.
    #[error("expected at most {0} bytes of text")]
    LongText(usize),
    /// Bytes in hexadecimal digits, and not as many as the type has.
    #[error("{found} bytes, expected {expected}")]
    Bytes {
        /// The bytes of the text.
        found: usize,
        /// The bytes of the type.
        expected: usize,
    },

    /// A number that the value cannot have.
    #[error("{number} does not fit, expected {low} to {high}")]
    OutOfRange {
        /// The number.
        number: i128,
        /// The least number.
        low: i128,
        /// The largest number.
        high: i128,
    },
    /// A word that is no number, or one that does not fit.
    #[error("expected {low} to {high} for {size} bytes")]
    WordOutOfRange {
        /// The least number.
        low: i128,
        /// The largest number.
        high: i128,
        /// The bytes of the number.
        size: usize,
    },
    /// A word that is no integer.
    #[error("expected a number, decimal or 0x…")]
    NoInteger,
    /// A word that is neither a number nor an enumerator.
    #[error("{0}, or the name of an enumerator")]
    NoIntegerOrName(#[source] Box<Self>),
    /// An integer of a size that words do not have.
    #[error("it has {0} bytes: give them in hex")]
    IntegerSize(usize),
    /// A word that is no `_Bool`.
    #[error("expected true or false")]
    NoBool,
    /// A word that is no floating-point number.
    #[error("expected a number")]
    NoFloat,
    /// A floating-point number that is no infinity, but that is rounded to one.
    #[error("too large for a float of {0} bytes")]
    LargeFloat(usize),
    /// A format of floating-point numbers that is not known.
    #[error("a float of {0} bytes: give all bytes as hex")]
    FloatFormat(usize),
    /// A number in a notation that is wrong.
    #[error("{word}: {source}")]
    Float {
        /// The number.
        word: String,
        /// What is wrong with it.
        source: Box<Self>,
    },
}

pub(super) const MEMBERS_EXPECTED: &str = "members as `{.NAME = VALUE}` or as JSON";

impl ValueError {
    /// Adds the outer part of the path.
    pub(super) fn below(self, part: &str) -> Self {
        match self {
            Self::Part { path, source } => Self::Part { path: format!("{part}{path}"), source },
            error => Self::Part { path: part.into(), source: Box::new(error) },
        }
    }
}

crate::debug_as_message!(ValueError);
