//! Texts of bounded length, whatever the names in them.

use crate::limits;
use alloc::string::String;
use core::fmt::{Display, Error, Result, Write};

/// The text of something, cut after [`limits::TEXT_BYTES`]. What comes after that is not even formatted.
pub fn text(what: impl Display) -> String {
    let mut cut = Cut { text: String::new(), is_cut: false };
    if write!(cut, "{what}").is_err() && cut.is_cut {
        cut.text.push('…');
    }
    cut.text
}

/// Text that takes no more than fits.
struct Cut {
    text: String,
    is_cut: bool,
}

impl Write for Cut {
    fn write_str(&mut self, piece: &str) -> Result {
        let left = limits::TEXT_BYTES.saturating_sub(self.text.len());
        if piece.len() <= left {
            self.text.push_str(piece);
            return Ok(());
        }
        let fits = (0..=left).rev().find_map(|end| piece.get(..end));
        self.text.push_str(fits.unwrap_or_default());
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
