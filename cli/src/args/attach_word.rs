//! Attach points on the command line. Their paths may be any bytes, but an attach point is text.

use crate::error::escape_path;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::path::Path;

/// Returns the parser of an attach point, whose error names a text that is not UTF-8.
pub(super) fn attach_word<T>(parse: fn(&str) -> Result<T, String>) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    OsStringValueParser::new().try_map(move |word| {
        let text = word.to_str().ok_or_else(|| {
            let shown = escape_path(Path::new(&word));
            format!("{shown}: expected UTF-8 text: a symbolic link with such a name may lead to the path")
        })?;
        parse(text)
    })
}
