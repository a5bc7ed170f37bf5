//! The programs, maps, links and BTFs in the running kernel: how the user selects them, and how they are
//! printed.

pub(crate) mod error;
pub(crate) mod instructions;
pub(crate) mod link_text;
pub(crate) mod machine_code;
pub(crate) mod select;
pub(crate) mod text;
pub(crate) mod time;
