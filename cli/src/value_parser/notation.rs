//! The notations of values: JSON, and the text of `map dump`.
//!
//! One grammar has both: `{"pid": 7, "comm": "sh"}`, and `{.pid = 7, .comm = "sh"}`, also with types, `(struct event){.pid = (int)7}`.

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
pub(super) fn parse(text: &str) -> Result<Written<'_>, String> {
    let mut reader = Reader { text, position: 0 };
    let written = reader.value(DEPTH)?;
    reader.skip_space();
    match reader.rest() {
        "" => Ok(written),
        rest => Err(format!("`{}` follows the end of the value", beginning(rest))),
    }
}

struct Reader<'t> {
    text: &'t str,
    position: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.position..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.position = self.text.len().saturating_sub(rest.trim_start().len());
    }

    /// Takes a character if it is the next one.
    fn take(&mut self, wanted: char) -> bool {
        let is_next = self.rest().starts_with(wanted);
        self.position = self.position.saturating_add(if is_next { wanted.len_utf8() } else { 0 });
        is_next
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        self.skip_space();
        if self.take(wanted) {
            return Ok(());
        }
        match self.rest() {
            "" => Err(format!("the value ends early, expected `{wanted}`")),
            rest => Err(format!("`{}`: expected `{wanted}`", beginning(rest))),
        }
    }

    /// Takes the next `len` bytes.
    fn advance(&mut self, len: usize) -> &'t str {
        let taken = self.rest().get(..len).unwrap_or_default();
        self.position = self.position.saturating_add(taken.len());
        taken
    }

    fn value(&mut self, depth: u32) -> Result<Written<'t>, String> {
        let deeper = depth.checked_sub(1).ok_or_else(|| format!("more than {DEPTH} nested groups"))?;
        self.skip_space();
        let type_name = if self.rest().starts_with('(') { Some(self.type_name()?) } else { None };
        self.skip_space();
        let start = self.position;
        let form = match self.rest().chars().next() {
            None => return Err("the value ends early".to_owned()),
            Some('{') => Form::Members(self.list('{', '}', |reader| reader.member(deeper))?),
            Some('[') => Form::Elements(self.list('[', ']', |reader| reader.value(deeper))?),
            Some('"') => Form::Quoted(self.quoted('"')?),
            Some('\'') => match *self.quoted('\'')? {
                [byte] => Form::Character(byte),
                _ => return Err("expected one character between `'`".to_owned()),
            },
            Some(_) => self.word()?,
        };
        let text = self.text.get(start..self.position).unwrap_or_default().trim_end();
        if self.rest().trim_start().starts_with('<') {
            return Err(incomplete(self.rest().trim_start()));
        }
        Ok(Written { text, type_name, form })
    }

    /// Takes the parts between two brackets. A comma may follow the last part.
    fn list<T>(
        &mut self,
        open: char,
        close: char,
        mut part: impl FnMut(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
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

    fn member(&mut self, depth: u32) -> Result<WrittenMember<'t>, String> {
        if self.take('.') {
            let len = self.rest().find(['=', ',', '}']).unwrap_or(self.rest().len());
            let name = self.advance(len).trim().to_owned();
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
    fn type_name(&mut self) -> Result<&'t str, String> {
        let rest = self.rest();
        let mut open = 0u32;
        for (index, char) in rest.char_indices() {
            match char {
                '(' => open = open.saturating_add(1),
                ')' => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 {
                let name = rest.get(1..index).unwrap_or_default();
                self.advance(index.saturating_add(1));
                return Ok(name);
            }
        }
        Err(format!("`{}`: expected `)`", beginning(rest)))
    }

    fn word(&mut self) -> Result<Form<'t>, String> {
        let rest = self.rest();
        let len = rest.find([',', ']', '}', '{', '[', '"', '<']).unwrap_or(rest.len());
        match self.advance(len).trim_end() {
            "..." => Err(incomplete("...")),
            "" if rest.starts_with('<') => Err(incomplete(rest)),
            "" => Err(format!("`{}`: expected a value", beginning(rest))),
            _ => Ok(Form::Word),
        }
    }

    /// Takes text in quotes, with the escapes of JSON and of C.
    fn quoted(&mut self, quote: char) -> Result<Vec<u8>, String> {
        self.expect(quote)?;
        let mut bytes = Vec::new();
        loop {
            let Some(char) = self.rest().chars().next() else {
                return Err(format!("the value ends early, expected `{quote}`"));
            };
            self.advance(char.len_utf8());
            match char {
                '\\' => self.escape(&mut bytes)?,
                char if char == quote => return Ok(bytes),
                char => bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    /// Takes the rest of an escape sequence.
    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), String> {
        let rest = self.rest();
        let unknown = || format!("`\\{}`: unknown escape sequence", beginning(rest));
        let char = rest.chars().next().ok_or_else(unknown)?;
        self.advance(char.len_utf8());
        bytes.push(match char {
            'n' => b'\n',
            't' => b'\t',
            'r' => b'\r',
            'b' => 8,
            'f' => 12,
            '"' | '\\' | '/' | '\'' => u8::try_from(char).map_err(|_not_ascii| unknown())?,
            'x' => self.hex_digits(2).and_then(|n| u8::try_from(n).ok()).ok_or_else(unknown)?,
            'u' => {
                let first = self.hex_digits(4).ok_or_else(unknown)?;
                let second = match first {
                    0xd800..0xdc00 if self.rest().starts_with("\\u") => {
                        self.advance(2);
                        self.hex_digits(4)
                    }
                    _ => None,
                };
                let decoded = char::decode_utf16([first].into_iter().chain(second));
                for char in decoded {
                    let char = char.map_err(|_half| unknown())?;
                    bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes());
                }
                return Ok(());
            }
            _ => return Err(unknown()),
        });
        Ok(())
    }

    fn hex_digits(&mut self, len: usize) -> Option<u16> {
        let digits = self.rest().get(..len).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.advance(len);
        u16::from_str_radix(digits, 16).ok()
    }
}

fn incomplete(text: &str) -> String {
    format!("`{}`: the text is not complete, expected all parts", beginning(text))
}

/// Returns the beginning of a text, for messages.
fn beginning(text: &str) -> &str {
    text.char_indices().nth(24).and_then(|(index, _)| text.get(..index)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

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
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let deep = "[".repeat(1 << 20);
        assert_eq!(parse(&deep).unwrap_err(), "more than 128 nested groups");
    }
}
