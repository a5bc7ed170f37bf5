//! The kernels in files, directories and archives, and the running kernel.

use crate::{
    archive::{self, Member},
    directory::{self, DirectoryKernels},
    error::{Defect, InputError},
    file_id::Inode,
    kernel::{
        id::KernelId,
        image::OpenedKernel,
        module::owner_by_path,
        package_groups::PackageGroups,
        parsed::Kernel,
        source::{FetchedKernel, KernelSource},
    },
    limits::Limits,
    note::{Note, SkippedFiles},
    threads::Threads,
};
use core_relo_verdict::kernel::WantedFacts;
use std::{
    collections::{HashMap, HashSet},
    fmt,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// The paths of kernels and of their modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelPaths {
    /// Files, tar archives and directories of kernels. If there are none, and no fetched kernels, the running
    /// kernel is selected.
    pub kernels: Vec<PathBuf>,
    /// Fetched kernels.
    pub fetched: Vec<FetchedKernel>,
    /// Files and directories with the BTF of modules of the only kernel.
    pub modules: Vec<PathBuf>,
    /// The kernel of a module among `kernels`. By default, the kernel is `vmlinux` in the module's directory.
    pub base: Option<PathBuf>,
    /// The limit for each kernel.
    pub limits: Limits,
}

impl KernelPaths {
    /// Creates the paths of kernels without modules.
    pub fn new<P: Into<PathBuf>>(kernels: impl IntoIterator<Item = P>) -> Self {
        Self { kernels: kernels.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// A choice among the kernels in directories and files.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct KernelFilter<'f> {
    /// Returns whether a kernel is included. The path is relative to the directory in [`KernelPaths`], the
    /// name of a file that has its own path there, that of a fetched kernel, or empty for the running kernel.
    pub is_included: &'f dyn Fn(&Path) -> bool,
    /// A file that is no kernel, whatever its name.
    pub excluded: Option<Inode>,
}

impl<'f> KernelFilter<'f> {
    /// Creates a filter.
    pub fn new(is_included: &'f dyn Fn(&Path) -> bool, excluded: Option<Inode>) -> Self {
        Self { is_included, excluded }
    }
}

impl Default for KernelFilter<'_> {
    fn default() -> Self {
        Self { is_included: &|_| true, excluded: None }
    }
}

impl fmt::Debug for KernelFilter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelFilter").field("excluded", &self.excluded).finish_non_exhaustive()
    }
}

/// A function that receives each kernel image, or the error of an image that cannot be opened.
pub type ImageVisitor<'v> =
    dyn FnMut(&KernelId, Result<OpenedKernel<'_>, InputError>) -> ControlFlow<()> + 'v;

/// A function that receives each kernel, or the error of a kernel that cannot be read.
pub type KernelVisitor<'v> = dyn FnMut(&KernelId, Result<Kernel, InputError>) -> ControlFlow<()> + 'v;

/// The selected kernels. Directories have been listed, kernels have not been read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct KernelSelection {
    /// The kernels and archives.
    pub sources: Vec<KernelSource>,
    /// BTF of modules, to be added to the only source.
    pub modules: Vec<PathBuf>,
    /// BTF of modules in directories, by the paths of their kernels.
    pub listed_modules: HashMap<PathBuf, Vec<PathBuf>>,
    /// The further packages of a kernel, by its first package.
    pub companions: HashMap<PathBuf, Vec<PathBuf>>,
    /// The errors of directories, and wrong combinations of paths.
    pub errors: Vec<InputError>,
    /// Skipped files.
    pub notes: Vec<Note>,
    /// The limit for each kernel.
    pub limits: Limits,
}

impl KernelSelection {
    /// Selects all kernels. Kernels in directories have the modules that belong to them by their paths.
    pub fn new(paths: &KernelPaths) -> Self {
        Self::filtered(paths, KernelFilter::default(), &Threads::none())
    }

    /// Selects these sources, with the default limits.
    pub fn from_sources(sources: Vec<KernelSource>) -> Self {
        Self { sources, ..Self::default() }
    }

    /// Selects images to boot, and fetched kernels. An image is a single file, never a directory or an
    /// archive.
    pub fn for_boot(images: &[PathBuf], fetched: Vec<FetchedKernel>, limits: Limits) -> Self {
        let image = |path: &PathBuf| KernelSource::File { path: path.clone(), base: None, is_listed: false };
        let fetched = fetched.into_iter().map(KernelSource::Fetched);
        Self { sources: images.iter().map(image).chain(fetched).collect(), limits, ..Self::default() }
    }

    /// Returns the files of the kernels and of the modules.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let kernels = self.sources.iter().filter_map(|source| match source {
            KernelSource::File { path, .. } | KernelSource::Archive(path) => Some(path.as_path()),
            KernelSource::Fetched(kernel) => Some(kernel.btf.as_path()),
            KernelSource::Running | KernelSource::Embedded { .. } => None,
        });
        let companions = self.companions.values().flatten();
        kernels.chain(self.modules.iter().chain(companions).map(PathBuf::as_path))
    }

    /// Selects the kernels that a filter includes, with all modules that have paths of their own. The threads
    /// look into the files of directories.
    ///
    /// The filter also decides on directories that cannot be read, but not on those without kernels.
    pub fn filtered(paths: &KernelPaths, filter: KernelFilter<'_>, threads: &Threads) -> Self {
        let mut selection = Self { limits: paths.limits, ..Self::default() };
        if paths.kernels.is_empty() && paths.fetched.is_empty() && (filter.is_included)(Path::new("")) {
            selection.sources.push(KernelSource::Running);
        }
        let is_included = |path: &Path| (filter.is_included)(path.file_name().map_or(path, Path::new));
        let files = paths.kernels.iter().filter(|path| !path.is_dir() && is_included(path));
        let groups = selection.group_packages(files.cloned().collect());
        // A package without a kernel that the user named is an error, which reading it reports.
        let files: HashSet<_> = groups.files.into_iter().chain(groups.others).collect();
        for path in &paths.kernels {
            if path.is_dir() {
                selection.add_dir(path, filter, threads);
            } else if files.contains(path) {
                selection.sources.push(KernelSource::from_path(path.clone(), paths.base.clone()));
            }
        }
        let fetched = paths.fetched.iter().filter(|kernel| (filter.is_included)(Path::new(&kernel.name)));
        selection.sources.extend(fetched.cloned().map(KernelSource::Fetched));
        for path in &paths.modules {
            if path.is_dir() {
                let (files, errors) = directory::find_files(path, filter.excluded);
                selection.modules.extend(directory::retain_modules(files));
                selection.errors.extend(errors);
            } else {
                selection.modules.push(path.clone());
            }
        }
        let kernel_count = selection.sources.len();
        if let Some(module) = selection.modules.first()
            && kernel_count > 1
        {
            let defect = Defect::ModulesOfSeveralKernels { kernel_count };
            selection.errors.push(InputError::new(module, defect));
            selection.sources.clear();
        }
        selection
    }

    fn add_dir(&mut self, dir: &Path, filter: KernelFilter<'_>, threads: &Threads) {
        let mut found = directory::find_kernels(dir, filter.excluded, self.limits, threads);
        self.take_modules(&mut found);
        self.notes.extend(SkippedFiles::new(dir, &found.modules).map(Note::Modules));
        let is_included = |file: &Path| (filter.is_included)(file.strip_prefix(dir).unwrap_or(file));
        let packages = found.packages.into_iter().filter(|package| is_included(package));
        let groups = self.group_packages(packages.collect());
        self.notes.extend(SkippedFiles::new(dir, &groups.others).map(Note::Packages));
        let has_no_kernel = found.kernels.is_empty() && groups.files.is_empty();
        if has_no_kernel && !groups.others.is_empty() {
            self.errors.push(InputError::new(dir, Defect::NoKernel));
        }
        let mut kernels: Vec<_> = found.kernels.into_iter().filter(|kernel| is_included(kernel)).collect();
        kernels.extend(groups.files);
        kernels.sort();
        self.sources.extend(kernels.into_iter().map(KernelSource::from_listed_path));
        let errors = found.errors.into_iter().filter(|e| has_no_kernel || is_included(&e.path));
        self.errors.extend(errors);
        self.notes.extend(found.notes);
    }

    /// Groups packages of the same kernel, and keeps the further packages of each.
    fn group_packages(&mut self, files: Vec<PathBuf>) -> PackageGroups {
        let mut groups = PackageGroups::new(files, self.limits);
        self.companions.extend(groups.companions.drain());
        groups
    }

    /// Takes the modules in a directory that belong to a kernel in it.
    fn take_modules(&mut self, found: &mut DirectoryKernels) {
        let listed = &mut self.listed_modules;
        let kernels: HashSet<_> = found.kernels.iter().cloned().collect();
        found.modules.retain(|module| {
            let owner = owner_by_path(module, &kernels);
            if let Some(owner) = owner {
                listed.entry(owner.to_path_buf()).or_default().push(module.clone());
            }
            owner.is_none()
        });
    }

    /// Returns the modules of a source.
    fn modules_of(&self, source: &KernelSource) -> &[PathBuf] {
        match source {
            KernelSource::File { path, is_listed: true, .. } => {
                self.listed_modules.get(path).unwrap_or(&self.modules)
            }
            _ => &self.modules,
        }
    }

    /// Returns the further packages of a source.
    fn companions_of(&self, source: &KernelSource) -> &[PathBuf] {
        match source {
            KernelSource::File { path, .. } => self.companions.get(path).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// Reads and parses all kernels with their facts, and passes them to `visit`. Returns notes about skipped
    /// members of archives.
    pub fn visit_kernels(&self, wanted: WantedFacts, visit: &mut KernelVisitor<'_>) -> Vec<Note> {
        let mut notes = Vec::new();
        for source in &self.sources {
            let mut flow = ControlFlow::Continue(());
            notes.extend(self.visit_images(source, &|_| true, &mut |id, image| {
                flow = visit(id, image.and_then(|image| image.parse_with_facts(wanted)));
                flow
            }));
            if flow.is_break() {
                break;
            }
        }
        notes
    }

    /// Passes the kernels of a source that `is_wanted` accepts to `visit`. Returns a note about skipped
    /// members.
    pub fn visit_images(
        &self,
        source: &KernelSource,
        is_wanted: &dyn Fn(&KernelId) -> bool,
        visit: &mut ImageVisitor<'_>,
    ) -> Option<Note> {
        let source_id = source.id();
        let KernelSource::Archive(path) = source else {
            let image = OpenedKernel::open(source, self.modules_of(source), self.limits);
            let image = image.map(|image| image.with_packages(self.companions_of(source)));
            let _: ControlFlow<()> = visit(&source_id, image);
            return None;
        };
        let read_member = |member: Member<'_>| {
            let path = member.path.clone();
            let content = member.read(self.limits)?;
            Ok(OpenedKernel::from_member(path, content, &self.modules, self.limits))
        };
        let note = archive::visit_members(path, self.limits, &mut |member| {
            let id = KernelId::Member { archive: path.clone().into_os_string(), index: member.index };
            if is_wanted(&id) { visit(&id, read_member(member)) } else { ControlFlow::Continue(()) }
        });
        note.unwrap_or_else(|bad| {
            if is_wanted(&source_id) {
                let _: ControlFlow<()> = visit(&source_id, Err(bad));
            }
            None
        })
    }
}
