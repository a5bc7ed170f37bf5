//! The object's BTF, adapted to a kernel.

mod arg_ctx;
mod fixup;
mod names;
mod repair;
mod sanitize;
mod sent;
mod sizes;
mod type_text;
mod words;

pub use arg_ctx::context_struct_name;
pub(super) use arg_ctx::{ContextTags, collect_tags, fix_func_info};
pub(super) use fixup::{fix_up, hide_functions};
pub(super) use names::name_rules;
pub use sent::SentBtf;
pub(super) use sent::{Adaptation, adapt};
pub(super) use words::set_secinfo;
