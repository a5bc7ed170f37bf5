//! Limits on the files of kernels.

/// The default limit for a kernel image, and for everything unpacked from it, in bytes. A vmlinux with all
/// its debug information has about 1 GiB.
const MAX_KERNEL_BYTES: u64 = 1 << 30;

/// The maximum size of a file that is searched for BTF because its first bytes have no known format.
pub(crate) const MAX_SEARCHED_BYTES: u64 = 256 << 20;

/// The limit for reading and unpacking one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a file that is read whole, of a decompressed file, and of an archive member, in
    /// bytes.
    pub bytes: u64,
    /// Whether the limit is not the default. A limit that is set also replaces the limits that depend on the
    /// size of the file.
    pub is_user_set: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: MAX_KERNEL_BYTES, is_user_set: false }
    }
}

impl Limits {
    /// Returns the limit of `max_bytes`, or the default.
    pub fn new(max_bytes: Option<u64>) -> Self {
        max_bytes.map_or_else(Self::default, |bytes| Self { bytes, is_user_set: true })
    }
}

/// The limit on the bytes of a kernel's configuration or symbols, unpacked. `/proc/kallsyms` of a
/// distribution's kernel has about 15 MiB.
pub(crate) const KERNEL_TEXT_BYTES: u64 = 64 << 20;

/// The largest section of an ELF that is searched for facts about a kernel, in bytes. The read-only data of a
/// kernel have less than 32 MiB.
pub(crate) const MAX_FACT_SECTION_BYTES: u64 = 128 << 20;

/// The longest name of a symbol in a symbol table, in bytes (the kernel's `KSYM_NAME_LEN`).
pub(crate) const MAX_SYMBOL_BYTES: usize = 512;

/// The largest banner of a kernel that is parsed, in bytes.
pub(crate) const MAX_BANNER_BYTES: usize = 1024;

/// The largest number of places in an image that are parsed as a banner or signature. A kernel has a few of
/// each.
pub(crate) const MAX_BANNERS: usize = 256;

/// The largest index of a suite (`Release`) and its signature, in bytes. Debian's have less than 256 KiB.
#[cfg(feature = "fetch")]
pub(crate) const MAX_INDEX_BYTES: u64 = 16 << 20;

/// The largest list of packages, compressed and unpacked, in bytes. Debian's have less than 64 MiB.
#[cfg(feature = "fetch")]
pub(crate) const MAX_PACKAGES_BYTES: u64 = 256 << 20;

/// The largest number of entries in an rpm header. rpm has the same limit.
pub(crate) const MAX_RPM_ENTRIES: u64 = 0xffff;

/// The largest size of the data in an rpm header, in bytes. The header of a package with 100,000 files has
/// about 20 MiB.
pub(crate) const MAX_RPM_HEADER_BYTES: u64 = 64 << 20;

/// The number of dependencies of an rpm that are read.
pub(crate) const MAX_RPM_DEPENDENCIES: usize = 1 << 16;

/// The largest number of files in an rpm.
pub(crate) const MAX_RPM_FILES: usize = 1 << 20;

/// The largest file of apt's sources that is read, in bytes.
#[cfg(feature = "fetch")]
pub(crate) const MAX_SOURCES_BYTES: u64 = 1 << 20;

/// The largest image, configuration, list of symbols or module that is taken from a package, in bytes.
#[cfg(feature = "fetch")]
pub(crate) const MAX_KERNEL_FILE_BYTES: u64 = 256 << 20;

/// The longest pause that a busy server may ask for, in seconds.
#[cfg(feature = "fetch")]
pub(crate) const MAX_PAUSE_SECONDS: u64 = 30;

/// The largest vmlinux with debug information that is taken from a package, in bytes.
#[cfg(feature = "fetch")]
pub(crate) const MAX_DEBUG_IMAGE_BYTES: u64 = 4 << 30;

/// The number of redirections that are followed.
#[cfg(feature = "fetch")]
pub(crate) const MAX_REDIRECTS: u32 = 5;

/// The largest list of packages of an rpm-md repository, unpacked, in bytes. Fedora's have about 200 MiB.
#[cfg(feature = "fetch")]
pub(crate) const MAX_PRIMARY_BYTES: u64 = 1 << 30;

/// The largest tag or text in the lists of an rpm-md repository, in bytes. Descriptions of packages have some
/// KiB.
#[cfg(feature = "fetch")]
pub(crate) const MAX_XML_EVENT_BYTES: usize = 1 << 20;

/// The depth of elements in the lists of an rpm-md repository. The lists have 5 levels.
#[cfg(feature = "fetch")]
pub(crate) const MAX_XML_DEPTH: usize = 16;

/// The longest name, path, hash or version in the lists of an rpm-md repository, in bytes.
#[cfg(feature = "fetch")]
pub(crate) const MAX_XML_FIELD_BYTES: usize = 1024;

/// The number of packages of kernels in a list that are read. Repositories with all versions have a few
/// thousand.
#[cfg(feature = "fetch")]
pub(crate) const MAX_KERNEL_PACKAGES: usize = 1 << 14;

/// The number of kernels in an index of apk, each of which takes a request. Alpine's have one of each
/// flavour.
#[cfg(feature = "fetch")]
pub(crate) const MAX_APK_KERNELS: usize = 64;

/// The largest file of keys that is read, in bytes.
#[cfg(feature = "fetch")]
pub(crate) const MAX_KEYRING_BYTES: u64 = 4 << 20;

/// The largest section with a module's description, in bytes.
#[cfg(feature = "fetch")]
pub(crate) const MAX_MODINFO_BYTES: u64 = 1 << 20;

/// The maximum number of modules that are searched for a guest, with those that they depend on.
#[cfg(feature = "fetch")]
pub(crate) const MAX_MODULE_FILES: usize = 256;
