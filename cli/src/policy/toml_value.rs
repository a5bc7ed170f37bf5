//! TOML tables whose errors name the line and the column.

use core::{num::NonZeroU32, ops::Range};
use core_relo::explain::{list_words, suggest_word};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A parsed TOML document.
#[derive(Debug)]
pub(super) struct TomlFile<'t> {
    text: &'t str,
    root: Spanned<DeTable<'t>>,
}

/// An error in a TOML document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TomlError {
    /// The line, from 1.
    pub(super) line: usize,
    /// The column in characters, from 1.
    pub(super) column: usize,
    pub(super) problem: String,
    pub(super) help: Option<String>,
}

impl TomlError {
    fn new(text: &str, offset: usize, problem: impl ToString) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).map_or(0, |line| line.chars().count()) + 1;
        let line = before.matches('\n').count() + 1;
        Self { line, column, problem: problem.to_string(), help: None }
    }

    /// Adds a remedy.
    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl<'t> TomlFile<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Self, TomlError> {
        match DeTable::parse(text) {
            Ok(root) => Ok(Self { text, root }),
            Err(e) => {
                let offset = e.span().map_or(text.len(), |span| span.start);
                // The message of the parser may have several lines.
                Err(TomlError::new(text, offset, e.message().replace('\n', ", ")))
            }
        }
    }

    /// Returns the table of the whole document.
    pub(super) fn root(&self) -> Table<'_, 't> {
        Table { text: self.text, table: self.root.get_ref(), span: self.root.span() }
    }
}

/// A table of a document.
#[derive(Debug)]
pub(super) struct Table<'f, 't> {
    text: &'t str,
    table: &'f DeTable<'t>,
    span: Range<usize>,
}

impl<'f, 't> Table<'f, 't> {
    /// Returns the line on which the table begins, from 1.
    pub(super) fn line(&self) -> usize {
        self.error("").line
    }

    /// Creates an error at the beginning of the table.
    pub(super) fn error(&self, problem: impl ToString) -> TomlError {
        TomlError::new(self.text, self.span.start, problem)
    }

    /// Creates an error at the value of a key.
    pub(super) fn error_at(&self, key: &str, problem: impl ToString) -> TomlError {
        let start = self.table.get(key).map_or(self.span.start, |value| value.span().start);
        TomlError::new(self.text, start, problem)
    }

    /// Checks that the table has no other keys.
    pub(super) fn check_keys(&self, known: &[&str]) -> Result<(), TomlError> {
        let unknown = self.table.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref()));
        let Some((key, _)) = unknown.min_by_key(|(key, _)| key.span().start) else { return Ok(()) };
        let name = key.get_ref();
        let known_list = list_words(known.iter().copied());
        let suggestion = suggest_word(name, known.iter().copied());
        let problem = format!("unknown key `{name}`, expected {known_list}{suggestion}");
        Err(TomlError::new(self.text, key.span().start, problem))
    }

    /// Returns the text of a key; `None` if the key is missing.
    pub(super) fn string(&self, key: &str) -> Result<Option<&'f str>, TomlError> {
        self.get(key, "a string", DeValue::as_str)
    }

    /// Returns the boolean of a key.
    pub(super) fn boolean(&self, key: &str) -> Result<Option<bool>, TomlError> {
        self.get(key, "`true` or `false`", DeValue::as_bool)
    }

    /// Returns the table of a key.
    pub(super) fn table(&self, key: &str) -> Result<Option<Self>, TomlError> {
        let table = self.get(key, "a table", DeValue::as_table)?;
        Ok(table.map(|table| self.with_table(table, self.table.get(key).map(Spanned::span))))
    }

    /// Returns the tables of a key, at most `limit`: `[[allow]]`.
    pub(super) fn tables(&self, key: &str, limit: usize) -> Result<Vec<Self>, TomlError> {
        let expected = format!("tables, each as `[[{key}]]`");
        let Some(array) = self.get(key, &expected, DeValue::as_array)? else { return Ok(Vec::new()) };
        let mut tables = Vec::new();
        for value in array.iter() {
            let Some(table) = value.get_ref().as_table() else {
                let problem = mismatch(key, value.get_ref(), &expected);
                return Err(TomlError::new(self.text, value.span().start, problem));
            };
            if tables.len() >= limit {
                let problem = format!("more than {limit} tables `{key}`");
                return Err(TomlError::new(self.text, value.span().start, problem));
            }
            tables.push(self.with_table(table, Some(value.span())));
        }
        Ok(tables)
    }

    /// Returns the keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'f str> {
        self.table.iter().map(|(key, _)| key.get_ref().as_ref())
    }

    /// Returns the string, number or boolean of a key, as text.
    pub(super) fn scalar(&self, key: &str) -> Result<Option<String>, TomlError> {
        let read = |value: &'f DeValue<'t>| match value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Boolean(value) => Some(value.to_string()),
            DeValue::Integer(number) => {
                let value = i128::from_str_radix(number.as_str(), number.radix()).ok()?;
                Some(value.to_string())
            }
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            _ => None,
        };
        self.get(key, "a string, a number or a boolean", read)
    }

    /// Returns the strings of a key.
    pub(super) fn strings(&self, key: &str) -> Result<Vec<&'f str>, TomlError> {
        let expected = "a list of strings";
        let Some(array) = self.get(key, expected, DeValue::as_array)? else { return Ok(Vec::new()) };
        let string = |value: &'f Spanned<DeValue<'t>>| {
            let error =
                || TomlError::new(self.text, value.span().start, mismatch(key, value.get_ref(), expected));
            value.get_ref().as_str().ok_or_else(error)
        };
        array.iter().map(string).collect()
    }

    /// Returns the count of a key, from 1 to 2^32 - 1.
    pub(super) fn count(&self, key: &str) -> Result<Option<NonZeroU32>, TomlError> {
        const EXPECTED: &str = "a number from 1 to 4294967295";
        let Some(number) = self.get(key, EXPECTED, DeValue::as_integer)? else { return Ok(None) };
        let count = u32::from_str_radix(number.as_str(), number.radix()).ok().and_then(NonZeroU32::new);
        let wrong = || self.error_at(key, format!("`{key}` is {}, expected {EXPECTED}", number.as_str()));
        count.map(Some).ok_or_else(wrong)
    }

    fn with_table(&self, table: &'f DeTable<'t>, span: Option<Range<usize>>) -> Self {
        Table { text: self.text, table, span: span.unwrap_or_else(|| self.span.clone()) }
    }

    /// Returns the value of a key, read by `read`. `None` if the key is missing.
    fn get<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'f DeValue<'t>) -> Option<T>,
    ) -> Result<Option<T>, TomlError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let mismatch = || self.error_at(key, mismatch(key, value.get_ref(), expected));
        read(value.get_ref()).map(Some).ok_or_else(mismatch)
    }
}

/// Describes a value of another type.
fn mismatch(key: &str, value: &DeValue<'_>, expected: &str) -> String {
    let found = value.type_str();
    let article = if found.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("`{key}` is {article} {found}, expected {expected}")
}
