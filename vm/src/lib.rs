//! Boots a kernel image in QEMU and runs commands there.
//!
//! | module | contents |
//! |---|---|
//! | [`kernel_image`] | a kernel image and its architecture |
//! | [`initramfs`] | the guest's file system: a cpio archive |
//! | [`executable`] | ELF executables, and the shared libraries that they need |
//! | [`machine`] | one run of QEMU: its arguments, its time limit, its output |
//! | [`guest`] | commands to run in a guest, and their output |
//! | [`init`] | the first process of the guest |
//!
//! [`Guest`] combines them: executables and files go into an initramfs, and the first process runs the
//! commands. Callers with a first process of their own use [`Initramfs`] and [`Machine`].

mod arch;
mod error;
pub mod executable;
pub mod guest;
pub mod init;
pub mod initramfs;
pub mod kernel_image;
pub mod machine;
mod memory_file;
mod notes;

pub use arch::{Arch, SerialPorts};
pub use error::VmError;
pub use guest::{Guest, GuestOutput};
pub use init::run_as_init;
pub use initramfs::Initramfs;
pub use kernel_image::KernelImage;
pub use machine::{Machine, RunOutput, accelerator, find_qemu};
