//! Inputs of any size and the commands that read them, for `cli/tests/growth.rs` and
//! `cargo xtask bench --growth`.
//!
//! A [`Dimension`] is a kind of element whose number can grow, for example programs. A count is enough to
//! generate its input.

mod calls;
mod code;
mod command;
mod data;
mod dimension;
mod externs;
mod files;
mod flow;
mod input;
mod object;
mod records;
mod struct_ops;
mod types;

pub use command::Command;
pub use dimension::Dimension;
pub use input::{Files, Written};
pub use object::ObjectBuilder;

/// Returns all dimensions.
pub fn dimensions() -> Vec<Dimension> {
    [
        code::DIMENSIONS,
        calls::DIMENSIONS,
        flow::DIMENSIONS,
        data::DIMENSIONS,
        externs::DIMENSIONS,
        struct_ops::DIMENSIONS,
        records::DIMENSIONS,
        types::DIMENSIONS,
        files::DIMENSIONS,
    ]
    .concat()
}
