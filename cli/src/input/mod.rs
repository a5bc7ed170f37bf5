//! Input files: BPF objects, loader files, tables of variants, and the kernels that the options name.

#[cfg(feature = "fetch")]
pub(crate) mod fetched_args;
pub(crate) mod input_error;
pub(crate) mod kernel_args;
pub(crate) mod limits;
pub(crate) mod loader_file;
pub(crate) mod object;
pub(crate) mod object_paths;
pub(crate) mod shard;
pub(crate) mod unpacked_image;
pub(crate) mod variant_table;
