//! Words of messages: lists, suggestions for words that the user mistyped, and words of command lines.

use core_relo::explain::nearest_names;

/// Returns words as a list: "`a`, `b` or `c`".
pub(crate) fn list<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [words @ .., last] if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        words => words.concat(),
    }
}

/// Returns the question whether the nearest word was meant, or an empty text if no word is near.
pub(crate) fn suggestion<'w>(unknown: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    match nearest_names(unknown.as_bytes(), words.into_iter().map(str::as_bytes)).first() {
        Some(word) => format!("; did you mean `{word}`?"),
        None => String::new(),
    }
}

/// Returns a text as one word of a shell's command line, quoted only if it has to be.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,@+".contains(c);
    match shlex::try_quote(text) {
        Ok(quoted) if !text.chars().all(is_plain) => quoted.into_owned(),
        _ => text.to_owned(),
    }
}
