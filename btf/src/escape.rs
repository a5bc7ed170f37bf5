//! Escaping of text from input, for terminals and logs.

use alloc::{boxed::Box, string::String};
use core::{
    fmt::{self, Write},
    ops::Deref,
};

/// Returns whether a character from input must be escaped for output.
///
/// These characters must be escaped: control characters, characters that change the direction of text,
/// invisible characters (format characters, separators other than the space, tags, Hangul fillers), combining
/// marks, and unassigned code points. The table is that of [`char::escape_debug`].
pub fn needs_escape(c: char) -> bool {
    match c {
        ' '..='~' => false,
        // Letters without a visible glyph, and the empty Braille pattern.
        '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' => true,
        _ => c.escape_debug().len() > 1,
    }
}

/// Text from input, escaped for one line: characters that [`needs_escape`] are printed as `\n`, `\t`, `\r` or
/// `\u{1b}`.
///
/// Escaping twice changes nothing, so that a message with escaped parts can be escaped again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper for printing")]
pub struct Escaped<T>(pub T);

impl<T: fmt::Display> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaper { out: f, unescaped: &[] }, "{}", self.0)
    }
}

/// Text of several lines, such as a verifier log. Escaped as [`Escaped`], except that line feeds and tabs
/// stay unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper for printing")]
pub struct EscapedLines<T>(pub T);

impl<T: fmt::Display> fmt::Display for EscapedLines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaper { out: f, unescaped: &['\n', '\t'] }, "{}", self.0)
    }
}

/// Writes bytes from input as [`Escaped`], and as `\xff` where they are not UTF-8.
pub(crate) fn write_bytes(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    if is_printable(bytes)
        && let Ok(text) = core::str::from_utf8(bytes)
    {
        return f.write_str(text);
    }
    for chunk in bytes.utf8_chunks() {
        Escaper { out: f, unescaped: &[] }.write_str(chunk.valid())?;
        chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
    }
    Ok(())
}

/// Returns whether bytes are ASCII characters that are not escaped, as in most names.
fn is_printable(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Text from input in an error. `Display` prints the text [`Escaped`]. [`Text::as_str`] returns the text
/// unchanged.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Box<str>);

impl Text {
    /// Returns the unchanged text.
    pub const fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<Box<str>> for Text {
    fn from(text: Box<str>) -> Self {
        Self(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self(text.as_str().into())
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Escaped(self.as_str()).fmt(f)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A writer that escapes its input.
struct Escaper<'o, W> {
    out: &'o mut W,
    unescaped: &'static [char],
}

impl<W: Write> Write for Escaper<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if is_printable(text.as_bytes()) {
            return self.out.write_str(text);
        }
        let is_escaped = |c: char| needs_escape(c) && !self.unescaped.contains(&c);
        // Each piece ends with a character that is escaped, or is the end of the text.
        for piece in text.split_inclusive(is_escaped) {
            match (piece.strip_suffix(is_escaped), piece.chars().next_back()) {
                (Some(plain), Some(escaped)) => {
                    self.out.write_str(plain)?;
                    write!(self.out, "{}", escaped.escape_default())?;
                }
                _ => self.out.write_str(piece)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::ToString as _};

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        let controls = ('\0'..='\x1f').chain('\x7f'..='\u{9f}');
        let directions =
            ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain("\u{200e}\u{200f}\u{61c}".chars());
        let invisible = "\u{200b}\u{200c}\u{200d}\u{feff}\u{2028}\u{2029}\u{2060}\u{ad}\u{34f}\u{3164}\u{fff9}\u{fffa}\u{fffb}\u{180e}\u{a0}";
        let tags = '\u{e0000}'..='\u{e007f}';
        let all = controls.chain(directions).chain(invisible.chars()).chain(tags);
        for c in all.chain("\u{301}\u{fe0f}\u{e000}\u{fdd0}\u{10ffff}".chars()) {
            let shown = Escaped(c).to_string();
            assert!(shown.starts_with('\\') && shown.is_ascii(), "{c:?}: {shown}");
        }
        for c in (' '..='~').chain("äß→…日本語жא🦀".chars()) {
            assert_eq!(Escaped(c).to_string(), c.to_string());
        }
    }

    #[test]
    fn line_feeds_and_tabs_stay_in_text_of_several_lines() {
        let text = "a\nb\tc\x1b[2J\r";
        assert_eq!(Escaped(text).to_string(), "a\\nb\\tc\\u{1b}[2J\\r");
        assert_eq!(EscapedLines(text).to_string(), "a\nb\tc\\u{1b}[2J\\r");
        assert_eq!(Escaped(format_args!("{text}{}", '\u{9b}')).to_string(), "a\\nb\\tc\\u{1b}[2J\\r\\u{9b}");
        assert_eq!(
            (Text::from(text).to_string(), Text::from(text).as_str()),
            (Escaped(text).to_string(), text)
        );
        let twice = Escaped(Escaped(text).to_string()).to_string();
        assert_eq!(twice, Escaped(text).to_string());
        assert_eq!(format!("{}", Escaped("")), "");
    }
}
