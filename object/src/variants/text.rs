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
    error::VariantError,
    table::{Alternative, Part, VariantGroup, VariantTable},
    tags::kernel_value,
};
use crate::elf::text as shown;

/// The first words of lines, for errors.
const WORDS: &str = "group, optional, loaded, offset_of, size_of, enum_value or has_field";

impl VariantTable {
    /// Parses a table: one entry per line. `#` begins a comment.
    pub fn parse(text: &str) -> Result<Self, VariantError> {
        let mut table = Self::new();
        for (index, line) in text.lines().enumerate() {
            let line =
                Line { number: index.saturating_add(1), text: line.split('#').next().unwrap_or(line).trim() };
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
        let added = match word {
            "optional" => {
                let part = Part::from(self.name(rest)?);
                table.lines.optional.entry(part.clone()).or_insert(self.number);
                table.add_optional(part);
                Ok(())
            }
            "group" => {
                let (name, alternatives) = self.assignment(rest)?;
                let alternatives: Result<_, _> =
                    alternatives.split('>').map(|alternative| self.alternative(alternative)).collect();
                let added =
                    table.add_group(VariantGroup { name: name.to_owned(), alternatives: alternatives? });
                if added.is_ok() {
                    table.lines.groups.insert(name.to_owned(), self.number);
                }
                added
            }
            "loaded" => {
                let (global, part) = self.assignment(rest)?;
                let added = table.add_indicator(global, Part::from(self.name(part)?));
                if added.is_ok() {
                    table.lines.globals.insert(global.to_owned(), self.number);
                }
                added
            }
            word => {
                let (global, path) = self.assignment(rest).map_err(|error| match kernel_value(word, "") {
                    Some(_) => error,
                    None => self.unknown_word(word),
                })?;
                let value = kernel_value(word, path).ok_or_else(|| self.unknown_word(word))?;
                let added = table.add_constant(global, value);
                if added.is_ok() {
                    table.lines.globals.insert(global.to_owned(), self.number);
                }
                added
            }
        };
        added.map_err(|cause| VariantError::Entry { line: self.number, cause: Box::new(cause) })
    }

    /// Parses the programs of an alternative, which `+` joins.
    fn alternative(&self, text: &str) -> Result<Alternative, VariantError> {
        let programs = text.split('+').map(|program| self.name(program).map(str::to_owned));
        programs.collect::<Result<_, _>>().map(Alternative)
    }

    /// Splits `NAME = VALUE`.
    fn assignment<'t>(&self, text: &'t str) -> Result<(&'t str, &'t str), VariantError> {
        let (name, value) = text.split_once('=').ok_or_else(|| self.error("no `=`", text, "NAME = …"))?;
        Ok((self.name(name)?, value.trim()))
    }

    /// Checks a name.
    fn name<'t>(&self, text: &'t str) -> Result<&'t str, VariantError> {
        let name = text.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            Err(self.error("no name", name, "one name"))
        } else {
            Ok(name)
        }
    }

    fn unknown_word(&self, word: &str) -> VariantError {
        self.error("unknown entry", word, WORDS)
    }

    fn error(&self, problem: &'static str, found: &str, expected: &'static str) -> VariantError {
        VariantError::Line { line: self.number, problem, found: shown(found.as_bytes()), expected }
    }
}
