//! The search for whole words in a line of C.

/// Returns the positions at which a text has a name as a whole word.
pub(super) fn find_words<'t>(text: &'t [u8], name: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    let starts = find_starts(text, name);
    starts.filter(move |start| {
        let after = start.checked_add(name.len()).and_then(|at| text.get(at));
        !is_word_byte(after)
    })
}

/// Returns the texts after a prefix of words.
pub(super) fn find_words_with_prefix<'t>(
    text: &'t [u8],
    prefix: &'t [u8],
) -> impl Iterator<Item = &'t [u8]> + 't {
    find_starts(text, prefix).filter_map(|start| text.get(start..)?.strip_prefix(prefix))
}

/// Returns the positions of words that start with a prefix.
fn find_starts<'t>(text: &'t [u8], prefix: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    let first = prefix.first();
    let starts = (0usize..).zip(text).filter(move |(_, byte)| Some(*byte) == first).map(|(start, _)| start);
    let is_word_start =
        move |start: &usize| !is_word_byte(start.checked_sub(1).and_then(|before| text.get(before)));
    let has_prefix = move |start: &usize| text.get(*start..).is_some_and(|rest| rest.starts_with(prefix));
    starts.filter(has_prefix).filter(is_word_start)
}

fn is_word_byte(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}
