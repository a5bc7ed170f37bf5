//! A suggested change.

use crate::source_line::SourceLine;

/// A change that changes the verdict. The code is complete: it can replace what [`FixPlace`] names without
/// further editing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Fix {
    /// The language of the code.
    pub language: FixLanguage,
    /// The code. `None` if a declaration is all, or if no code can help, as the text says.
    pub code: Option<String>,
    /// The advice in one sentence.
    pub text: String,
    /// The place of the code.
    pub applies_to: FixPlace,
    /// C that goes to file scope, after the declarations that the program has already.
    pub declaration: Option<String>,
    /// The source line that the code replaces, for [`FixPlace::Line`]. It may come after the instruction of
    /// the reason, because compilers move instructions.
    pub source: Option<SourceLine>,
}

/// The language of a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FixLanguage {
    /// C, of the BPF program or of a loader that uses libbpf.
    C,
    /// Rust, of a loader that uses this project's library.
    Rust,
    /// Options of a command.
    Shell,
}

/// The place of a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FixPlace {
    /// The code replaces the source line that the fix names.
    Line,
    /// The code is a condition, for an `if` around the access.
    Condition,
    /// The code replaces the declaration of the extern.
    Extern,
    /// The code replaces the section of the program or of the struct_ops map.
    Section,
    /// The code replaces the line of the attribute in the map's definition, or is added there.
    Map,
    /// The code belongs to the loader, between opening the object and loading it.
    Loader,
    /// The code is an option of the compiler.
    Compiler,
    /// The code is an option of this command.
    Command,
    /// No code can help.
    Nothing,
}

impl FixLanguage {
    /// Returns the word for JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Rust => "rust",
            Self::Shell => "shell",
        }
    }
}

impl FixPlace {
    /// Returns the word for JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Condition => "condition",
            Self::Extern => "extern",
            Self::Section => "section",
            Self::Map => "map",
            Self::Loader => "loader",
            Self::Compiler => "compiler",
            Self::Command => "command",
            Self::Nothing => "nothing",
        }
    }
}

impl Fix {
    /// Creates a fix of the program's C source.
    pub(super) fn c(place: FixPlace, text: impl Into<String>, code: impl Into<String>) -> Self {
        Self {
            language: FixLanguage::C,
            applies_to: place,
            text: text.into(),
            source: None,
            declaration: None,
            code: Some(code.into()),
        }
    }

    /// Creates a fix in another language.
    pub(super) fn new(language: FixLanguage, place: FixPlace, text: &str, code: String) -> Self {
        Self { language, ..Self::c(place, text, code) }
    }

    /// Creates advice without code.
    pub fn without_code(text: impl Into<String>) -> Self {
        Self { code: None, ..Self::c(FixPlace::Nothing, text, "") }
    }

    /// Adds the source line that the code replaces.
    pub(super) fn with_source(self, source: Option<&SourceLine>) -> Self {
        let source = source.filter(|_| self.applies_to == FixPlace::Line).cloned();
        Self { source, ..self }
    }

    /// Adds a declaration at file scope.
    pub(super) fn with_declaration(mut self, declaration: String) -> Self {
        self.declaration = Some(declaration);
        self
    }
}
