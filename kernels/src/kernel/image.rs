//! Kernel images: kernels whose files are open but not parsed. A caller that knows the [`FileId`] need not
//! parse the image.

use crate::{
    btf_file::{
        self,
        package_kernel::{self, is_package},
    },
    compression::budget::Budget,
    error::{Defect, InputError},
    file::OpenFile,
    file_id::FileId,
    image_facts,
    kernel::{
        parsed::Kernel,
        source::{FetchedKernel, KernelSource},
    },
    limits::Limits,
    stream::Descriptor,
};
use core_relo::Data;
use core_relo_verdict::kernel::WantedFacts;
use std::path::{Path, PathBuf};

/// A kernel that has been opened and not parsed, with the modules to add to it.
pub struct OpenedKernel<'s> {
    content: Content<'s>,
    modules: &'s [PathBuf],
    /// The further packages of the kernel, if the file is a package.
    packages: &'s [PathBuf],
    limits: Limits,
}

/// The content of a kernel image.
enum Content<'s> {
    File { file: OpenFile<'s>, base: Option<&'s Path> },
    Fetched { file: OpenFile<'s>, kernel: &'s FetchedKernel },
    Member { path: PathBuf, bytes: Data<'static>, budget: Budget },
    Parsed(Box<Kernel>),
}

impl<'s> OpenedKernel<'s> {
    /// Opens a source, which must not be an archive.
    pub fn open(
        source: &'s KernelSource,
        modules: &'s [PathBuf],
        limits: Limits,
    ) -> Result<Self, InputError> {
        let content = match source {
            KernelSource::Running => Content::Parsed(Box::new(Kernel::running()?)),
            KernelSource::File { path, base, is_listed: _ } => {
                Content::File { file: OpenFile::open(path, limits.bytes)?, base: base.as_deref() }
            }
            KernelSource::Fetched(kernel) => {
                Content::Fetched { file: OpenFile::open(&kernel.btf, limits.bytes)?, kernel }
            }
            KernelSource::Archive(path) => {
                return Err(InputError::new(path, Defect::NotOneKernel));
            }
            KernelSource::Embedded { name, bytes } => {
                let bytes = Data::Borrowed(bytes);
                let budget = Budget::for_kernel(limits, u64::try_from(bytes.len()).unwrap_or(u64::MAX));
                Content::Member { path: PathBuf::from(name), bytes, budget }
            }
        };
        Ok(Self { content, modules, packages: &[], limits })
    }

    /// Creates the image of a member of an archive.
    pub(super) fn from_member(
        path: PathBuf,
        (bytes, budget): (Data<'static>, Budget),
        modules: &'s [PathBuf],
        limits: Limits,
    ) -> Self {
        Self { content: Content::Member { path, bytes, budget }, modules, packages: &[], limits }
    }

    /// Adds further packages of the kernel.
    pub(super) fn with_packages(self, packages: &'s [PathBuf]) -> Self {
        Self { packages, ..self }
    }

    /// Returns the path and the identity of the file. Returns `None` for a kernel that does not consist of a
    /// single file, or that may have facts in other files beside it.
    pub fn file_id(&self) -> Option<(&'s Path, FileId)> {
        match &self.content {
            Content::File { file, .. }
                if self.modules.is_empty()
                    && self.packages.is_empty()
                    && !image_facts::has_neighbours(file.path) =>
            {
                Some((file.path, file.id?))
            }
            _ => None,
        }
    }

    /// Reads and parses the kernel, without facts besides its BTF.
    pub fn parse(self) -> Result<Kernel, InputError> {
        self.parse_with_facts(WantedFacts::default())
    }

    /// Reads and parses the kernel, and finds facts in its image.
    pub fn parse_with_facts(self, wanted: WantedFacts) -> Result<Kernel, InputError> {
        let limits = self.limits;
        let kernel = match self.content {
            Content::File { file, base } => {
                let path = file.path;
                let input = file.read_head()?;
                let is_package = is_package(path, &input.head);
                let (btf_file, facts) = match is_package {
                    true => package_kernel::read(input, self.packages, limits, wanted)?,
                    false => btf_file::read_input(input, limits, wanted)?,
                };
                let kernel = Kernel::from_file(path, &btf_file, base, limits)?;
                let kernel = kernel.with_facts(facts.with_neighbours(path, wanted));
                // A stream cannot be read again.
                if is_package && Descriptor::from_path(path).is_none() {
                    let packages = std::iter::once(path).chain(self.packages.iter().map(PathBuf::as_path));
                    kernel.with_module_packages(packages.map(Path::to_path_buf).collect(), limits)
                } else {
                    kernel
                }
            }
            Content::Fetched { file, kernel } => {
                let path = file.path;
                let (btf_file, facts) = btf_file::read_input(file.read_head()?, limits, wanted)?;
                let parsed = Kernel::from_file(path, &btf_file, None, limits)?;
                parsed.with_facts(facts.with_neighbours(path, wanted)).with_fetched_parts(kernel)
            }
            Content::Member { path, bytes, budget } => {
                let (btf_file, facts) = btf_file::read_bytes(&path, bytes, &budget, wanted)?;
                Kernel::from_member(&path, &btf_file)?.with_facts(facts)
            }
            Content::Parsed(kernel) => *kernel,
        };
        kernel.with_modules(self.modules, limits)
    }
}

impl Kernel {
    /// Reads and parses the kernel of a source, which must not be an archive, and adds modules.
    pub fn read(source: &KernelSource, modules: &[PathBuf], limits: Limits) -> Result<Self, InputError> {
        OpenedKernel::open(source, modules, limits)?.parse()
    }
}
