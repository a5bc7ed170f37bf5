//! Kernels to relocate against: the running kernel, files, archives, directories; and their modules.

mod further_modules;
pub(crate) mod id;
pub(crate) mod image;
pub mod module;
mod module_packages;
mod package_groups;
pub(crate) mod parsed;
pub(crate) mod release;
pub(crate) mod selection;
pub(crate) mod source;
