//! One object for many kernels: alternatives of programs, optional parts, and constants that depend on the
//! kernel.
//!
//! A [`VariantTable`] declares, for each task of an object, the programs that can do it, best first. A loader
//! chooses the first alternative that works on a kernel, tells the programs about the choice through
//! constants, and fills in offsets by name.
//!
//! | file | contents |
//! |---|---|
//! | `table` | [`VariantTable`], built in Rust |
//! | `tags` | the table in an object's declaration tags (`core_relo.h`) |
//! | `text` | the table as a text file |
//! | `place` | the lines of a text table, for errors |
//! | `part` | groups, programs, maps and constants that a table refers to |
//! | `object_variants` | [`ObjectVariants`]: a table that fits an object |
//! | `fit` | the check of a table against an object |
//! | `initial_program`, `initial_contents` | programs in maps, which follow the choice |
//! | `selection` | [`Selection`]: a choice, and what it loads |
//! | `apply` | a choice, applied to the settings of a load |
//! | `kernel_value` | [`KernelValue`]: offsets, sizes and enumerators of a kernel, by name |
//! | `value_search`, `path` | their numbers in the types of a kernel |
//! | `named_types` | the types and enumerators that a set of values names |

mod apply;
mod entry_lines;
mod error;
mod fit;
mod initial_contents;
mod initial_program;
mod kernel_value;
mod named_types;
mod object_variants;
mod part;
mod path;
mod selection;
mod table;
mod tags;
#[cfg(test)]
mod tests;
mod text;
mod value_search;

pub use error::{KernelValueError, VariantError};
pub use kernel_value::KernelValue;
pub use object_variants::{ObjectConstant, ObjectVariants, VariantGlobal};
pub use part::{Part, PartKind};
pub use selection::Selection;
pub use table::{Alternative, Indicator, KernelConstant, VariantGroup, VariantTable};
