//! A mismatch.

use crate::source_line::SourceLine;

/// A difference between an object and a kernel that no load reports: of declarations, or between a program's
/// section and what the kernel attaches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub struct Mismatch {
    /// The kind of the difference.
    pub kind: MismatchKind,
    /// The first program with the mismatch.
    pub program: String,
    /// The problem in one sentence.
    pub text: String,
    /// The source line of the read.
    pub source: Option<SourceLine>,
    /// The object's declaration, or the program's section.
    pub local: String,
    /// The kernel's declaration, or the evidence that it does not attach the program.
    pub target: String,
}

impl Mismatch {
    /// Creates a mismatch without a source line.
    pub fn new(kind: MismatchKind, program: &str, text: &str, declarations: Declarations<'_>) -> Self {
        let Declarations { local, target } = declarations;
        let [program, text, local, target] = [program, text, local, target].map(str::to_owned);
        Self { kind, program, text, source: None, local, target }
    }
}

/// The two sides of a [`Mismatch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there are two sides")]
pub struct Declarations<'d> {
    /// The object's declaration, or the program's section.
    pub local: &'d str,
    /// The kernel's declaration, or the evidence that it does not attach the program.
    pub target: &'d str,
}

/// The kind of a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MismatchKind {
    /// An argument of the traced function or tracepoint is missing, or has another type.
    Prototype,
    /// A probe of a system call reads the registers of the wrapper instead of those of the call.
    SyscallWrapper,
    /// A member of a tracepoint's context has moved, and is read without CO-RE.
    Context,
    /// A field has another width than the constant size of the read.
    Width,
    /// A field is signed in one of the declarations only.
    Signedness,
    /// A field points to another struct.
    Pointee,
    /// An array has another length than the constant size of the read.
    ArrayLength,
    /// An enumerator that is compared as a constant has another value.
    EnumValue,
    /// The kernel lacks the events or links that attach the program.
    Attachment,
    /// The kernel refuses the object's BTF, without which the object loads.
    Btf,
    /// The loader loads the object only if user space acts before, or ignores a part of the object.
    Loader,
    /// A pointer in a data section that no loader sets.
    NullPointer,
}

impl MismatchKind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::Prototype,
        Self::SyscallWrapper,
        Self::Context,
        Self::Width,
        Self::Signedness,
        Self::Pointee,
        Self::ArrayLength,
        Self::EnumValue,
        Self::Attachment,
        Self::Btf,
        Self::Loader,
        Self::NullPointer,
    ];

    /// Returns the kind with a [word](Self::word).
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.word() == word)
    }

    /// Returns the word for JSON, such as `array_length`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Prototype => "prototype",
            Self::SyscallWrapper => "syscall_wrapper",
            Self::Context => "context",
            Self::Width => "width",
            Self::Signedness => "signedness",
            Self::Pointee => "pointee",
            Self::ArrayLength => "array_length",
            Self::EnumValue => "enum_value",
            Self::Attachment => "attachment",
            Self::Btf => "btf",
            Self::Loader => "loader",
            Self::NullPointer => "null_pointer",
        }
    }
}

/// The difference that a comparison finds, before its place is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Difference {
    pub(super) kind: MismatchKind,
    pub(super) text: String,
    pub(super) local: String,
    pub(super) target: String,
}
