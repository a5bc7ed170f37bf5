//! The reasons why there is no `vmlinux.h` for the target.

use core_relo::btf::BtfError;
#[cfg(feature = "btf-archive")]
use core_relo_object::archive::ArchiveError;
use core_relo_object::target::ExtractError;
use thiserror::Error;

/// The reason why a file gives no `vmlinux.h` for cargo's target.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VmlinuxError {
    /// The target is another machine than the one that builds.
    #[error(
        "the running kernel is one of {}, but the target is {target}\nhelp: `Builder::vmlinux_of(\"kernel.btf\")` takes the types from a \
         file: `/sys/kernel/btf/vmlinux` of a machine of the target, or an archive from `core-relo btf min`",
        std::env::consts::ARCH
    )]
    ForeignTarget {
        /// The target's architecture, as cargo names it.
        target: String,
    },
    /// The headers do not know the registers of the target.
    #[error(
        "no vmlinux.h for the target {target}, whose kernels the builder does not know\nhelp: write the header by \
         `core-relo btf dump BTF --format c > src/bpf/vmlinux.h`, and leave out `Builder::vmlinux_of`"
    )]
    UnknownTarget {
        /// The target's architecture, as cargo names it.
        target: String,
    },
    /// The BTF is that of another machine than the target.
    #[error(
        "the types of {found}, expected a kernel of {target}, cargo's target\nhelp: choose the file by the environment variable \
         CARGO_CFG_TARGET_ARCH, or give an archive with kernels of all targets"
    )]
    OtherTarget {
        /// The kernel of the BTF, in words.
        found: String,
        /// The target's architecture, as cargo names it.
        target: String,
    },
    /// An archive has no kernel of the target's architecture.
    #[error(
        "no kernel of {target}, cargo's target: {}\nhelp: make the archive of kernels of the target as well: \
         `core-relo btf min OBJECT --btf KERNEL… -o ARCHIVE`",
        kernels(.found)
    )]
    NoKernel {
        /// The target's architecture, as cargo names it.
        target: String,
        /// The architectures in the archive. An empty one is unknown.
        found: Vec<String>,
    },
    /// The BTF is that of a module, without the types of the kernel.
    #[error("the BTF of a module, expected that of a kernel")]
    Module,
    /// The file has no BTF that can be read.
    #[error(
        "{0}: expected BTF, an ELF file with BTF or an archive from `core-relo btf min`\nhelp: `core-relo btf dump FILE --format c` writes the \
         header of a compressed kernel image; unpack the archives of BTFHub with tar"
    )]
    Extract(#[from] ExtractError),
    /// The BTF is damaged.
    #[error(transparent)]
    Btf(#[from] BtfError),
    /// The archive is damaged.
    #[cfg(feature = "btf-archive")]
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The file is an archive, and the crate was built without the feature that reads archives.
    #[error("an archive, which core-relo-build reads with the feature `btf-archive`")]
    NoArchives,
}

core_relo::debug_as_message!(VmlinuxError);

/// Describes the kernels of an archive by their architectures.
fn kernels(architectures: &[String]) -> String {
    if architectures.is_empty() {
        return "the archive has no kernels".to_owned();
    }
    let name =
        |name: &String| if name.is_empty() { "an unknown architecture".to_owned() } else { name.clone() };
    let names: Vec<_> = architectures.iter().map(name).collect();
    format!("the archive has kernels of {}", names.join(", "))
}
