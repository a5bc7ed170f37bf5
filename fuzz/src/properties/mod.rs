//! Properties that must hold for every input.

pub mod binaries;
pub mod btf_ids;
pub mod debug_info;
pub mod headers;
mod kernel;
pub mod kernels;
pub mod linking;
pub mod loader_files;
pub mod loading;
pub mod packages;
pub mod planning;
pub mod repositories;
pub mod results;
pub mod skeletons;
pub mod types;
pub mod verdict;
