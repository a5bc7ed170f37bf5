//! Kernels to check BPF objects against: their BTF, and what their images show of their version,
//! configuration and symbols.
//!
//! A [`KernelSelection`] lists the kernels in files, packages of distributions, directories, tar archives
//! and the running system. Packages of the same kernel are one kernel. Compressed files, boot images and ELF
//! files with debug information are unpacked within [`Limits`], so that a small file cannot take all the
//! memory.
//!
//! ```no_run
//! use core_relo_kernels::{KernelPaths, KernelSelection, WantedFacts};
//! use std::ops::ControlFlow;
//!
//! let selection = KernelSelection::new(&KernelPaths::new(["/boot", "kernels.tar.xz"]));
//! for error in &selection.errors {
//!     eprintln!("{error}");
//! }
//! let wanted = WantedFacts { version_and_kconfig: true, ..WantedFacts::default() };
//! selection.visit_kernels(wanted, &mut |id, kernel| {
//!     match kernel {
//!         Ok(kernel) => println!("{}: {:?}", kernel.name, kernel.release()),
//!         Err(error) => eprintln!("{id}: {error}"),
//!     }
//!     ControlFlow::Continue(())
//! });
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`btf_file`] | the BTF in a file of any form |
//! | [`module`] | split BTF of modules |
//! | [`kernel_text`] | configurations and lists of symbols |
//! | [`directory`] | the files below a directory |
//! | [`mod@file`], [`stream`] | regular files, standard input and pipes |
//! | [`file_kind`] | the kind of a file |
//! | [`package`] | packages of distributions |
//! | [`threads`] | worker threads |
//! | `fetch` (feature `fetch`; `fetch-tls` for `https:`) | the kernels of distributions, from their package repositories |

mod archive;
mod boot_image;
pub mod btf_file;
mod compression;
pub mod directory;
mod elf_sections;
mod error;
#[cfg(feature = "fetch")]
pub mod fetch;
pub mod file;
mod file_id;
pub mod file_kind;
mod image_facts;
mod kernel;
pub mod kernel_text;
mod limits;
mod note;
pub mod package;
mod package_defect;
mod package_kind;
pub mod stream;
mod tar_members;
pub mod threads;
mod unpacked_image;

pub use compression::{
    budget::{Exceeded, Scope},
    format::Compression,
};
/// The facts to find in an image, from `core_relo_verdict::kernel`.
pub use core_relo_verdict::kernel::WantedFacts;
pub use error::{Defect, InputError, IoFailure};
pub use file_id::{FileId, Inode};
pub use image_facts::{ImageFact, ImageFacts};
pub use kernel::{
    id::{InvalidKernelId, KernelId},
    image::OpenedKernel,
    module,
    parsed::Kernel,
    release::KernelRelease,
    selection::{ImageVisitor, KernelFilter, KernelPaths, KernelSelection, KernelVisitor},
    source::{FetchedKernel, KernelSource, running_release},
};
pub use limits::Limits;
pub use note::{Note, SkippedFiles};
pub use unpacked_image::unpack_image;
