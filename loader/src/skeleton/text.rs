//! C strings in arrays of characters.

use alloc::borrow::Cow;
use core::fmt;

/// A C string in an array of characters: the characters before the first 0, or all.
///
/// ```
/// use core_relo_loader::skeleton::CText;
/// assert_eq!(CText(b"bash\0\0\0\0").to_string(), "bash");
/// ```
#[derive(Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper of the bytes")]
pub struct CText<'b>(pub &'b [u8]);

impl<'b> CText<'b> {
    /// Returns the bytes before the first 0, or all bytes.
    pub fn as_bytes(self) -> &'b [u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or(self.0)
    }

    /// Returns the text, with replacement characters for what is not UTF-8.
    pub fn to_str(self) -> Cow<'b, str> {
        String::from_utf8_lossy(self.as_bytes())
    }
}

impl fmt::Display for CText<'_> {
    /// Prints the text. Control characters are printed as they are: use `{:?}` for text that others chose.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_str())
    }
}

impl fmt::Debug for CText<'_> {
    /// Prints the text in quotes, with control characters escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}
