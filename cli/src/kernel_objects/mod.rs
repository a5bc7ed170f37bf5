//! The programs, maps, links and BTFs in the running kernel.

pub(crate) mod btf_cache;
pub(crate) mod error;
pub(crate) mod fdinfo;
pub(crate) mod holders;
pub(crate) mod instructions;
pub(crate) mod kind;
pub(crate) mod link_device;
pub(crate) mod link_target;
pub(crate) mod machine_code;
pub(crate) mod mounts;
pub(crate) mod names;
pub(crate) mod object;
pub(crate) mod pins;
pub(crate) mod processes;
pub(crate) mod program_names;
pub(crate) mod select;
pub(crate) mod symbols;
pub(crate) mod text;
pub(crate) mod time;
