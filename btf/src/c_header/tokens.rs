//! The tokens of a C source.

use crate::data::rest_from;

/// A part of a text that is neither blank nor a comment.
#[derive(Clone, Copy)]
pub(super) enum Token<'t> {
    Word(&'t [u8]),
    /// A word in a literal.
    Quoted(&'t [u8]),
    /// Any other character outside of literals.
    Punctuation(u8),
}

/// The identifiers and keywords in a text, without those in comments, which `clang -E -C` keeps.
pub(super) struct Words<'t> {
    rest: &'t [u8],
    /// The quote that ends the current literal.
    quote: Option<u8>,
}

impl<'t> Words<'t> {
    pub(super) const fn new(text: &'t [u8]) -> Self {
        Self { rest: text, quote: None }
    }

    /// Returns the words with the punctuation between them.
    pub(super) fn tokens(mut self) -> impl Iterator<Item = Token<'t>> {
        core::iter::from_fn(move || self.next_token())
    }

    fn next_token(&mut self) -> Option<Token<'t>> {
        loop {
            let first = *self.rest.first()?;
            let is_end = |c: &u8| !c.is_ascii_alphanumeric() && *c != b'_';
            let length = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(length);
            if word.is_empty() {
                let is_literal = self.quote.is_some();
                let is_comment = self.skip(first);
                if !is_literal && !is_comment && !first.is_ascii_whitespace() {
                    return Some(Token::Punctuation(first));
                }
                continue;
            }
            self.rest = rest;
            if !first.is_ascii_digit() {
                return Some(if self.quote.is_some() { Token::Quoted(word) } else { Token::Word(word) });
            }
        }
    }

    /// Skips a character that is in no word, or a comment. Returns whether it is a comment.
    fn skip(&mut self, first: u8) -> bool {
        let comment_end = match (self.quote, self.rest) {
            (None, [b'/', b'*', comment @ ..]) => Some(comment.windows(2).position(|end| end == b"*/")),
            (None, [b'/', b'/', comment @ ..]) => Some(comment.iter().position(|c| *c == b'\n')),
            _ => None,
        };
        let skipped = match comment_end {
            // The two characters at the beginning, and up to two at the end.
            Some(Some(length)) => [2, length, 1].into_iter().sum(),
            Some(None) => self.rest.len(),
            None if self.quote.is_some() && first == b'\\' => 2,
            None => 1,
        };
        if comment_end.is_none() {
            self.quote = match (self.quote, first) {
                (None, b'"' | b'\'') => Some(first),
                // A literal ends in its line.
                (Some(quote), _) if first == quote || first == b'\n' => None,
                (quote, _) => quote,
            };
        }
        self.rest = rest_from(self.rest, skipped);
        comment_end.is_some()
    }
}

impl<'t> Iterator for Words<'t> {
    type Item = &'t [u8];

    fn next(&mut self) -> Option<&'t [u8]> {
        loop {
            match self.next_token()? {
                Token::Word(word) | Token::Quoted(word) => return Some(word),
                Token::Punctuation(_) => {}
            }
        }
    }
}
