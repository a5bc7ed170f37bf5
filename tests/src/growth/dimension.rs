//! A dimension in which the input of a command can grow.

use super::{command::Command, input::Files};

/// A kind of element whose number can grow.
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    /// The name of the elements, in the plural.
    pub name: &'static str,
    /// The largest count that the formats, or the loader's limits, allow.
    pub max_count: usize,
    /// The commands whose work is expected to grow with the count.
    pub commands: &'static [Command],
    /// Builds an input with the given count.
    pub build: fn(usize) -> Files,
}
