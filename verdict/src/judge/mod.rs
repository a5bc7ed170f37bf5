//! The verdict on the programs of an object.

mod answers;
mod architecture;
mod attach;
mod attachments;
mod btf;
mod btf_parts;
mod code;
mod construct;
mod context;
mod data;
mod dead_code;
mod error;
mod externs;
mod features;
mod frame;
mod held_programs;
mod info;
mod load_judge;
mod loader_rules;
mod map_owner;
mod maps;
mod model;
mod object;
mod object_context;
mod program;
mod reasons;
mod references;
mod returns;
mod shared_load;
mod source;
mod struct_ops;
mod suspects;
#[cfg(test)]
mod tests;

pub use answers::KernelAnswers;
pub(crate) use answers::TableSearch;
pub use error::JudgeError;
pub use externs::symbol_choice;
pub use features::NeededFeature;
pub use load_judge::LoadJudgeError;
pub use loader_rules::loader_reasons;
pub use model::{LoaderRefusal, ObjectVerdict, ProgramVerdict, Reason, ReasonKind, Requirement, Verdict};
pub use object::{judge, judge_by_load};
