//! The notations of values: JSON, and the text of `map dump`.
//!
//! One grammar has both: `{"pid": 7, "comm": "sh"}`, and `{.pid = 7, .comm = "sh"}`, also with types,
//! `(struct event){.pid = (int)7}`.

use super::ValueError;
use alloc::{borrow::ToOwned as _, string::String, vec::Vec};

/// The levels of nested groups that are read.
const DEPTH: u32 = 128;

/// A value as it is written, without its type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written<'t> {
    /// The text of the value, for messages.
    pub(super) text: &'t str,
    /// The type that stands before the value: `struct event` of `(struct event){…}`.
    pub(super) type_name: Option<&'t str>,
    pub(super) form: Form<'t>,
}

/// The form of a written value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form<'t> {
    /// `{"a": 1}` or `{.a = 1}`.
    Members(Vec<WrittenMember<'t>>),
    /// `[1, 2]`.
    Elements(Vec<Written<'t>>),
    /// The bytes of `"text"`.
    Quoted(Vec<u8>),
    /// `'a'`.
    Character(u8),
    /// A number, the name of an enumerator, flags (`A | B`), or the like.
    Word,
}

/// A member as it is written. Anonymous structs and unions have no name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrittenMember<'t> {
    pub(super) name: Option<String>,
    pub(super) value: Written<'t>,
}

/// Parses a whole text.
pub(super) fn parse(text: &str) -> Result<Written<'_>, ValueError> {
    let mut reader = Reader { rest: text };
    let written = reader.value(DEPTH)?;
    reader.skip_space();
    match reader.rest {
        "" => Ok(written),
        rest => Err(ValueError::Trailing(beginning(rest))),
    }
}

struct Reader<'t> {
    /// The text that is not read yet.
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes a character if it is the next one.
    fn take(&mut self, wanted: char) -> bool {
        let after = self.rest.strip_prefix(wanted);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, expected: char) -> Result<(), ValueError> {
        self.skip_space();
        if self.take(expected) {
            return Ok(());
        }
        Err(match self.rest {
            "" => ValueError::Unclosed(expected),
            rest => ValueError::NoCharacter { found: beginning(rest), expected },
        })
    }

    /// Takes the next `len` bytes.
    fn advance(&mut self, len: usize) -> Result<&'t str, ValueError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(ValueError::EndsEarly)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Returns the text that was read since `start` was the rest.
    fn read_since(&self, start: &'t str) -> Result<&'t str, ValueError> {
        let len = start.len().checked_sub(self.rest.len());
        len.and_then(|len| start.get(..len)).ok_or(ValueError::EndsEarly)
    }

    /// Takes the next character.
    fn char(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let char = chars.next()?;
        self.rest = chars.as_str();
        Some(char)
    }

    fn value(&mut self, depth: u32) -> Result<Written<'t>, ValueError> {
        let deeper = depth.checked_sub(1).ok_or(ValueError::TooDeep(DEPTH))?;
        self.skip_space();
        let type_name = if self.rest.starts_with('(') { Some(self.type_name()?) } else { None };
        self.skip_space();
        let start = self.rest;
        let form = match start.chars().next() {
            None => return Err(ValueError::EndsEarly),
            Some('{') => Form::Members(self.list('{', '}', |reader| reader.member(deeper))?),
            Some('[') => Form::Elements(self.list('[', ']', |reader| reader.value(deeper))?),
            Some('"') => Form::Quoted(self.quoted('"')?),
            Some('\'') => match *self.quoted('\'')? {
                [byte] => Form::Character(byte),
                _ => return Err(ValueError::Character),
            },
            Some(_) => self.word()?,
        };
        let text = self.read_since(start)?.trim_end();
        if self.rest.trim_start().starts_with('<') {
            return Err(incomplete(self.rest.trim_start()));
        }
        Ok(Written { text, type_name, form })
    }

    /// Takes the parts between two brackets. A comma may follow the last part.
    fn list<T>(
        &mut self,
        open: char,
        close: char,
        mut part: impl FnMut(&mut Self) -> Result<T, ValueError>,
    ) -> Result<Vec<T>, ValueError> {
        self.expect(open)?;
        let mut parts = Vec::new();
        loop {
            self.skip_space();
            if self.take(close) {
                return Ok(parts);
            }
            parts.push(part(self)?);
            self.skip_space();
            if !self.take(',') {
                self.expect(close)?;
                return Ok(parts);
            }
        }
    }

    fn member(&mut self, depth: u32) -> Result<WrittenMember<'t>, ValueError> {
        if self.take('.') {
            let len = self.rest.find(['=', ',', '}']).unwrap_or(self.rest.len());
            let name = self.advance(len)?.trim().to_owned();
            self.expect('=')?;
            return Ok(WrittenMember { name: Some(name), value: self.value(depth)? });
        }
        let value = self.value(depth)?;
        self.skip_space();
        match value.form {
            Form::Quoted(name) if self.take(':') => {
                let name = String::from_utf8_lossy(&name).into_owned();
                Ok(WrittenMember { name: Some(name), value: self.value(depth)? })
            }
            form => Ok(WrittenMember { name: None, value: Written { form, ..value } }),
        }
    }

    /// Takes a type in parentheses. Types of functions have parentheses, too.
    fn type_name(&mut self) -> Result<&'t str, ValueError> {
        let start = self.rest;
        // The parentheses of a text are no more than its bytes.
        let mut open = 0usize;
        while let Some(char) = self.char() {
            open = match char {
                '(' => open.wrapping_add(1),
                ')' => open.wrapping_sub(1),
                _ => open,
            };
            if open == 0 {
                let name = self.read_since(start)?.strip_prefix('(').and_then(|name| name.strip_suffix(')'));
                return name.ok_or(ValueError::EndsEarly);
            }
        }
        Err(ValueError::NoCharacter { found: beginning(start), expected: ')' })
    }

    fn word(&mut self) -> Result<Form<'t>, ValueError> {
        let rest = self.rest;
        let len = rest.find([',', ']', '}', '{', '[', '"', '<']).unwrap_or(rest.len());
        match self.advance(len)?.trim_end() {
            "..." => Err(incomplete("...")),
            "" if rest.starts_with('<') => Err(incomplete(rest)),
            "" => Err(ValueError::Unexpected { found: beginning(rest), expected: "a value" }),
            _ => Ok(Form::Word),
        }
    }

    /// Takes text in quotes, with the escapes of JSON and of C.
    fn quoted(&mut self, quote: char) -> Result<Vec<u8>, ValueError> {
        self.expect(quote)?;
        let mut bytes = Vec::new();
        loop {
            match self.char().ok_or(ValueError::Unclosed(quote))? {
                '\\' => {
                    let found = self.rest;
                    self.escape(&mut bytes).ok_or_else(|| ValueError::Escape(beginning(found)))?;
                }
                char if char == quote => return Ok(bytes),
                char => bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    /// Takes the rest of an escape sequence. Returns `None` for an unknown one.
    fn escape(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        bytes.push(match self.char()? {
            'n' => b'\n',
            't' => b'\t',
            'r' => b'\r',
            'b' => 8,
            'f' => 12,
            char @ ('"' | '\\' | '/' | '\'') => u8::try_from(char).ok()?,
            'x' => u8::try_from(self.hex_digits(2)?).ok()?,
            'u' => {
                let first = self.hex_digits(4)?;
                let second = match self.rest.strip_prefix("\\u") {
                    Some(rest) if (0xd800..0xdc00).contains(&first) => {
                        self.rest = rest;
                        self.hex_digits(4)
                    }
                    _ => None,
                };
                for char in char::decode_utf16([first].into_iter().chain(second)) {
                    bytes.extend(char.ok()?.encode_utf8(&mut [0; 4]).as_bytes());
                }
                return Some(());
            }
            _ => return None,
        });
        Some(())
    }

    fn hex_digits(&mut self, len: usize) -> Option<u16> {
        let (digits, rest) = self.rest.split_at_checked(len)?;
        let digits = Some(digits).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.rest = rest;
        u16::from_str_radix(digits, 16).ok()
    }
}

fn incomplete(text: &str) -> ValueError {
    ValueError::Incomplete(beginning(text))
}

/// Returns the beginning of a text, for messages.
fn beginning(text: &str) -> String {
    text.chars().take(24).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::ToString as _};

    /// Returns a value in one notation without its text.
    fn normal(written: &Written<'_>) -> String {
        match &written.form {
            Form::Members(members) => {
                let member = |member: &WrittenMember<'_>| match &member.name {
                    Some(name) => format!("{name}={}", normal(&member.value)),
                    None => normal(&member.value),
                };
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
            Form::Elements(elements) => {
                format!("[{}]", elements.iter().map(normal).collect::<Vec<_>>().join(","))
            }
            Form::Quoted(bytes) => format!("{bytes:?}"),
            Form::Character(byte) => format!("'{byte}'"),
            Form::Word => written.text.to_owned(),
        }
    }

    #[test]
    fn json_and_text_are_one_grammar() {
        for (text, expected) in [
            ("7", "7"),
            (r#"{"a": 1, "b": [true, -2.5e3, null]}"#, "{a=1,b=[true,-2.5e3,null]}"),
            ("{.a = 1, .b = [true, -2.5e3]}", "{a=1,b=[true,-2.5e3]}"),
            (
                "(struct s){\n\t.a = (int)1,\n\t(union {...}){\n\t\t.f = (void (*)(int))0x10,\n\t},\n}",
                "{a=1,{f=0x10}}",
            ),
            ("{.flags = A | B | 0x10, .c = 'x'}", "{flags=A | B | 0x10,c='120'}"),
            (r#""a\"\\\n\x1b\u00e9\ud83d\ude00""#, "[97, 34, 92, 10, 27, 195, 169, 240, 159, 152, 128]"),
            (r"'\''", "'39'"),
            ("[]", "[]"),
            ("{}", "{}"),
        ] {
            assert_eq!(normal(&parse(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn damaged_text_is_named() {
        for (text, expected) in [
            ("", "the value ends early"),
            ("{", "the value ends early"),
            ("{.a 1}", "`}`: expected `=`"),
            (r#"{"a" 1}"#, "`1}`: expected `}`"),
            ("[1 2", "the value ends early, expected `]`"),
            ("[,]", "`,]`: expected a value"),
            ("{} x", "`x` follows the end of the value"),
            ("\"x", "the value ends early, expected `\"`"),
            (r#""\q""#, "unknown escape sequence"),
            (r#""\ud800""#, "unknown escape sequence"),
            ("'ab'", "expected one character"),
            ("(int 7", "expected `)`"),
            ("{.a = <cut off>}", "the text is not complete"),
            ("{.a = \"ab\"<cut off>}", "the text is not complete"),
            ("{.a = ...}", "the text is not complete"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let deep = "[".repeat(1 << 20);
        assert_eq!(parse(&deep), Err(ValueError::TooDeep(128)));
    }

    /// Text that is compared with itself for each part would take a minute.
    #[test]
    fn a_long_list_is_read_in_one_pass() {
        let text = format!("[{}]", "(int)1,".repeat(1 << 19));
        let Form::Elements(elements) = parse(&text).unwrap().form else { panic!("no list") };
        assert_eq!(elements.len(), 1 << 19);
        assert!(elements.iter().all(|element| element.text == "1" && element.type_name == Some("int")));
    }
}
