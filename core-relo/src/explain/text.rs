//! Texts of bounded length, even if they contain very long names.

use crate::limits;
use alloc::string::String;
use core::fmt::{Display, Error, Result, Write};

/// Formats a value, and truncates the text to [`limits::TEXT_BYTES`]. Formatting stops at the limit.
pub fn text(value: impl Display) -> String {
    let mut bounded = BoundedText { text: String::new(), is_cut: false };
    if write!(bounded, "{value}").is_err() && bounded.is_cut {
        bounded.text.push('…');
    }
    bounded.text
}

/// A text of at most [`limits::TEXT_BYTES`].
struct BoundedText {
    text: String,
    is_cut: bool,
}

impl Write for BoundedText {
    fn write_str(&mut self, piece: &str) -> Result {
        let left = limits::TEXT_BYTES.abs_diff(self.text.len());
        if piece.len() <= left {
            self.text.push_str(piece);
            return Ok(());
        }
        if let Some(prefix) = (0..=left).rev().find_map(|end| piece.get(..end)) {
            self.text.push_str(prefix);
        }
        self.is_cut = true;
        Err(Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn long_texts_are_cut_between_characters() {
        for (len, is_cut) in [(limits::TEXT_BYTES, false), (limits::TEXT_BYTES + 1, true)] {
            let long = "x".repeat(len);
            let cut = text(&long);
            assert_eq!(cut != long, is_cut);
            assert_eq!(cut.trim_end_matches('…').len(), limits::TEXT_BYTES);
        }
        let cut = text(format_args!("x{}", "é".repeat(limits::TEXT_BYTES)));
        assert_eq!(cut, format!("x{}…", "é".repeat((limits::TEXT_BYTES - 1) / 2)));
    }
}
