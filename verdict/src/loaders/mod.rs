//! The loaders that open objects, and the rules in which they differ.
//!
//! A kernel sees programs and maps only. Whether an object is opened at all, the loader decides: libbpf
//! refuses definitions that cilium/ebpf and aya accept, and the other way round. [`LoaderRule`] is the table
//! of these rules. [`RuleUse`](crate::requirements::RuleUse) is a part of an object to which a rule applies.
//! The judge refuses the object if the rule of the caller's loader does, and judges the programs all the
//! same.

pub(crate) mod aya;
mod btf_policy;
mod loader;
mod rules;
mod sections;

#[cfg(any(test, feature = "test-support"))]
pub(crate) use aya::{all_words as aya_words, section_words as aya_section_words};
pub(crate) use btf_policy::BtfPolicy;
pub use loader::LoaderKind;
pub use rules::{LoaderRule, Stance};
