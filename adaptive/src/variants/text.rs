//! A table as a text file, for objects that nobody can compile again.
//!
//! ```text
//! # the best alternative first; `+` joins programs that are loaded together
//! group unlink = unlink_fentry > unlink_kprobe > unlink_tp
//! group open = open_fentry + open_fexit > open_kprobe + open_kretprobe
//! optional open
//! optional rarely_wanted
//! loaded has_ringbuf = map:events
//! offset_of tgid_offset = task_struct.tgid
//! size_of task_size = task_struct
//! enum_value loop_number = enum bpf_func_id.BPF_FUNC_loop
//! has_field has_state = task_struct.__state
//! ```

use super::{
    entry_lines::EntryName,
    error::VariantError,
    part::Part,
    table::{Alternative, VariantGroup, VariantTable},
    tags::kernel_value,
};
use core_relo_object::shown_name;

/// The first words of lines, for errors.
const WORDS: &str = "group, optional, loaded, offset_of, size_of, enum_value or has_field";

impl VariantTable {
    /// Parses a table: one entry per line. `#` begins a comment.
    pub fn parse(text: &str) -> Result<Self, VariantError> {
        let mut table = Self::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = Line { number, text: line.split('#').next().unwrap_or(line).trim() };
            if !line.text.is_empty() {
                line.add_to(&mut table)?;
            }
        }
        Ok(table)
    }
}

/// A line without its comment.
struct Line<'t> {
    number: usize,
    text: &'t str,
}

impl Line<'_> {
    fn add_to(&self, table: &mut VariantTable) -> Result<(), VariantError> {
        let (word, rest) = self.text.split_once(char::is_whitespace).unwrap_or((self.text, ""));
        let (entry, added) = match word {
            "optional" => {
                let part = Part::from(self.name(rest)?);
                let is_new = !table.has_other_spelling(&part) && table.add_optional(part.clone());
                let twice = || VariantError::OptionalTwice { part: part.to_string().as_str().into() };
                (EntryName::Optional(part.clone()), is_new.then_some(()).ok_or_else(twice))
            }
            "group" => {
                let (name, alternatives) = self.assignment(rest)?;
                let alternatives: Result<_, _> =
                    alternatives.split('>').map(|alternative| self.alternative(name, alternative)).collect();
                let group = VariantGroup { name: name.to_owned(), alternatives: alternatives? };
                (EntryName::Group(name.to_owned()), table.add_group(group))
            }
            "loaded" => {
                let (global, part) = self.assignment(rest)?;
                let added = table.add_indicator(global, Part::from(self.name(part)?));
                (EntryName::Global(global.to_owned()), added)
            }
            word => {
                let (global, path) = self.assignment(rest).map_err(|error| match kernel_value(word, "") {
                    Some(_) => error,
                    None => self.unknown_word(word),
                })?;
                let value = kernel_value(word, path).ok_or_else(|| self.unknown_word(word))?;
                (EntryName::Global(global.to_owned()), table.add_constant(global, value))
            }
        };
        added.map_err(|cause| self.entry_error(cause))?;
        table.lines.insert(entry, self.number);
        Ok(())
    }

    fn entry_error(&self, cause: VariantError) -> VariantError {
        VariantError::Entry { source_name: None, line: self.number, cause: Box::new(cause) }
    }

    /// Parses the programs of an alternative, which `+` joins.
    fn alternative(&self, group: &str, text: &str) -> Result<Alternative, VariantError> {
        let program = |program: &str| {
            if program.trim().is_empty() {
                return Err(self.entry_error(VariantError::EmptyGroup { group: group.into() }));
            }
            self.name(program).map(str::to_owned)
        };
        text.split('+').map(program).collect::<Result<_, _>>().map(Alternative)
    }

    /// Splits `NAME = VALUE`.
    fn assignment<'t>(&self, text: &'t str) -> Result<(&'t str, &'t str), VariantError> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| self.error("no `=`", self.text, "NAME = …"))?;
        Ok((self.name(name)?, value.trim()))
    }

    /// Checks a name.
    fn name<'t>(&self, text: &'t str) -> Result<&'t str, VariantError> {
        let name = text.trim();
        if name.is_empty() {
            return Err(self.error("no name", self.text, "one name"));
        }
        if name.contains(char::is_whitespace) {
            return Err(self.error("several names", name, "one name"));
        }
        Ok(name)
    }

    fn unknown_word(&self, word: &str) -> VariantError {
        self.error("unknown entry", word, WORDS)
    }

    fn error(&self, problem: &'static str, found: &str, expected: &'static str) -> VariantError {
        VariantError::Line { line: self.number, problem, found: shown_name(found.as_bytes()), expected }
    }
}
