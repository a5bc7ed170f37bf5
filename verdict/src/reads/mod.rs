//! The reads of a program through its context, with CO-RE and of configuration values, and its uses of maps,
//! from its instructions alone.
//!
//! The trace follows values forward, from the start of each function, and forgets values where paths with
//! different values meet. It finds the reads and uses of usual programs, not all of them: what it does not
//! find is never reported. Addresses in the context are followed on every path, so that an access to the
//! context is one on some path. Arguments of calls are those of every path.

mod calls;
mod comparison;
mod context_argument;
mod helper_memory;
mod jumps;
mod map_use;
mod model;
mod object;
mod state;
#[cfg(test)]
mod tests;
mod trace;

pub use comparison::Comparison;
pub use model::{ContextAccess, ContextWord, Read, ReadKind, Returns};

pub(crate) use context_argument::{ContextCallee, TracedArgument, kfunc_takes_context};
pub(crate) use map_use::{MapAccess, TracedMapUse};
pub(crate) use model::{FrameAccess, VariableAccess};
pub(crate) use object::TracedObject;
pub(crate) use trace::{Traced, trace};
