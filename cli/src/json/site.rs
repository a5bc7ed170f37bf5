//! `kernels.json` of the page that `site` writes.

use serde::Serialize;

/// The kernels of a page.
#[derive(Debug, Serialize)]
pub(crate) struct SiteManifest {
    /// The name and version of the module that reads the kernels.
    pub(crate) module: String,
    /// The word for the loader that is chosen at first.
    pub(crate) loader: &'static str,
    pub(crate) kernels: Vec<SiteKernel>,
}

/// A kernel of a page.
#[derive(Debug, Serialize)]
pub(crate) struct SiteKernel {
    pub(crate) facts: SiteFacts,
    /// The parts that every verdict needs, and the symbols.
    pub(crate) parts: Vec<SitePart>,
    /// A pack of the modules that are read when an object needs them.
    pub(crate) modules: Option<SiteFile>,
}

/// The facts about a kernel that are no files of the page.
#[derive(Debug, Serialize)]
pub(crate) struct SiteFacts {
    pub(crate) name: String,
    pub(crate) release: Option<String>,
    pub(crate) architecture: Option<String>,
    /// The version in labels, which may be that in the name.
    pub(crate) label_version: Option<String>,
    /// The version, if there is evidence for it.
    pub(crate) version: Option<String>,
    pub(crate) version_origin: Option<String>,
    pub(crate) kconfig_origin: Option<String>,
    pub(crate) symbols_origin: Option<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) has_modules: bool,
}

/// A part of a kernel.
#[derive(Debug, Serialize)]
pub(crate) struct SitePart {
    /// `btf`, `kconfig`, `symbols` or `given_modules`.
    pub(crate) part: &'static str,
    #[serde(flatten)]
    pub(crate) file: SiteFile,
}

/// A compressed file of a page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SiteFile {
    /// The path in the page's directory.
    pub(crate) path: String,
    /// The number of bytes when it is unpacked.
    pub(crate) bytes: usize,
    /// The number of bytes of the file.
    pub(crate) packed_bytes: usize,
}

/// A module in a pack: a line with an array of these, and the BTF of each.
#[derive(Debug, Serialize)]
pub(crate) struct PackedModule {
    pub(crate) name: String,
    /// The number of bytes of its BTF.
    pub(crate) bytes: usize,
}
