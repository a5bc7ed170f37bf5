//! Names that an error shows instead of an unknown name.

use crate::elf::text;
use core::fmt;
use core_relo::Text;

/// The number of names that an error shows.
const SHOWN: usize = 8;

/// The known names, those with the longest common beginning first.
pub(crate) struct Near<'n>(pub(crate) &'n str, pub(crate) &'n [Text]);

impl fmt::Display for Near<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(wanted, names) = self;
        if names.is_empty() {
            return f.write_str("; it has none");
        }
        let alike = |name: &str| name.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
        let mut shown: Vec<&str> = names.iter().map(|n| &**n).collect();
        shown.sort_by_key(|name| core::cmp::Reverse(alike(name)));
        shown.truncate(SHOWN);
        let shown: Vec<_> = shown.into_iter().map(|name| text(name.as_bytes()).to_string()).collect();
        write!(f, "; it has {}", shown.join(", "))?;
        match names.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
