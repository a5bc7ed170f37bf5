//! Words of command lines.

/// Returns a text as one word of a shell's command line, quoted only if it has to be.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,@+".contains(c);
    match shlex::try_quote(text) {
        Ok(quoted) if !text.chars().all(is_plain) => quoted.into_owned(),
        _ => text.to_owned(),
    }
}
