//! The object's BTF, adapted to a kernel.

mod arg_ctx;
mod fixup;
mod sanitize;
mod sent;
mod words;

pub(super) use arg_ctx::{ContextTags, collect_tags, fix_func_info};
pub(super) use fixup::{fix_up, hide_functions};
pub(super) use sanitize::sanitize;
pub use sent::SentBtf;
pub(super) use words::set_secinfo;
