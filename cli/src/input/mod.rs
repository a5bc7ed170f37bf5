//! Input files: BPF objects, and kernels in all the forms they come in.

pub(crate) mod archive;
pub(crate) mod boot_image;
pub(crate) mod btf_file;
pub(crate) mod compression;
pub(crate) mod directory;
mod elf_sections;
pub(crate) mod file;
pub(crate) mod file_id;
pub(crate) mod file_kind;
pub(crate) mod image_facts;
pub(crate) mod kernel;
pub(crate) mod kernel_text;
pub(crate) mod limits;
pub(crate) mod loader_file;
pub(crate) mod object;
pub(crate) mod shard;
pub(crate) mod stream;
pub(crate) mod variant_table;
