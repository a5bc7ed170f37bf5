//! Names of programs, maps and links on the command line.

/// Parses a name. An empty name would select the objects that have none.
pub(super) fn parse_name(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("expected a name") } else { Ok(text.to_owned()) }
}
