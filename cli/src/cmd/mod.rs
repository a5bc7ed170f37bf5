//! The commands.

pub(crate) mod btf;
mod budget_gate;
pub(crate) mod cgroup;
pub(crate) mod check;
#[cfg(feature = "completions")]
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod feature;
pub(crate) mod gen_header;
pub(crate) mod gen_loader;
pub(crate) mod gen_object;
pub(crate) mod gen_rust;
pub(crate) mod gen_vmlinux;
mod guest_setup;
pub(crate) mod inspect;
pub(crate) mod iter;
mod kernel_facts;
mod kernel_visits;
#[cfg(feature = "fetch")]
pub(crate) mod kernels;
pub(crate) mod link;
pub(crate) mod load;
#[cfg(feature = "man")]
pub(crate) mod man;
pub(crate) mod map;
pub(crate) mod net;
mod object_change;
mod object_refusal;
pub(crate) mod patch;
pub(crate) mod perf;
pub(crate) mod plan;
mod plans;
pub(crate) mod prog;
pub(crate) mod requires;
mod rows;
pub(crate) mod run;
pub(crate) mod site;
pub(crate) mod struct_ops;
mod test_run;
pub(crate) mod token;
mod verdicts;
pub(crate) mod vm;
