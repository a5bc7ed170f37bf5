//! Explanations of a plan's decisions: the candidates, similar names in the target, and ways to fix the
//! program.
//!
//! Nothing here decides: explanations read a [`Plan`](crate::Plan) and search the target's types.

mod declaration;
mod explainer;
mod guards;
mod help;
mod missing;
mod near;
mod reason;
mod shared_words;
mod similar;
mod similar_names;
mod text;

pub use crate::btf::CType;
pub use declaration::{declare, declare_both, declare_function, type_text};
pub use explainer::{Explainer, Explanation, TriedCandidate, explain, reason, target_independent_reason};
pub use near::AlternativeMember;
pub use similar_names::{list_words, nearest_names, similar_names, suggest_word};
pub use text::text;

#[cfg(test)]
mod tests;
