//! Words of messages: lists, suggestions for words that the user mistyped, and words of command lines.

/// The longest unknown word for which a known one is suggested, in characters.
const SUGGESTION_CHARS: usize = 32;

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
    if unknown.chars().nth(SUGGESTION_CHARS).is_some() {
        return String::new();
    }
    let distance = |word: &'w str| (strsim::damerau_levenshtein(unknown, word), word);
    let nearest = words.into_iter().map(distance).min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((distance, word)) if distance <= word.len().div_ceil(3) => format!("; did you mean `{word}`?"),
        _ => String::new(),
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
