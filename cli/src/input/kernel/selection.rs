//! The kernels that the arguments select.

use crate::{
    error::{BadInput, escape_path},
    input::{
        archive::{self, Member},
        directory::{self, BadDirectory, DirectoryKernels},
        file_id::Inode,
        kernel::{
            args::KernelArgs, id::KernelId, image::KernelImage, module::owner_by_path, source::KernelSource,
        },
        limits::Limits,
        shard::Shard,
    },
    process::threads::Threads,
};
use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// A source of kernels that cannot be read, or a wrong combination of arguments.
#[derive(Debug)]
pub(crate) struct BadSource {
    /// The identity of the directory; `None` for arguments.
    pub(crate) id: Option<KernelId>,
    pub(crate) bad: BadInput,
}

impl From<BadDirectory> for BadSource {
    fn from(BadDirectory { path, bad }: BadDirectory) -> Self {
        Self { id: Some(KernelId::File(path.into_os_string())), bad }
    }
}

/// A function that receives each kernel image, or the error of an image that cannot be opened.
pub(crate) type ImageVisitor<'v> =
    dyn FnMut(&KernelId, Result<KernelImage<'_>, BadInput>) -> ControlFlow<()> + 'v;

/// The selected kernels. Directories have been listed, kernels have not been read.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) sources: Vec<KernelSource>,
    /// BTF of modules, to be added to the only source.
    pub(crate) modules: Vec<PathBuf>,
    /// BTF of modules in directories, by the paths of their kernels.
    pub(crate) listed_modules: HashMap<PathBuf, Vec<PathBuf>>,
    pub(crate) bad: Vec<BadSource>,
    pub(crate) notes: Vec<String>,
    pub(crate) limits: Limits,
}

impl Selection {
    /// Selects all kernels. Kernels in directories have the modules that belong to them by their paths.
    pub(crate) fn new(args: &KernelArgs) -> Self {
        Self::for_shard(args, None, None, &Threads::none())
    }

    /// Returns the files of the kernels and of the modules.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let kernels = self.sources.iter().filter_map(|source| match source {
            KernelSource::File { path, .. } | KernelSource::Archive(path) => Some(path.as_path()),
            KernelSource::Running | KernelSource::Embedded { .. } => None,
        });
        kernels.chain(self.modules.iter().map(PathBuf::as_path))
    }

    /// Selects the kernels in a shard, with all modules that the arguments name. `results_file` is the file of `check --resume`, which may be in a directory of
    /// kernels.
    ///
    /// Directories that cannot be read belong to a shard as well. A directory without kernels is bad input for every shard.
    pub(crate) fn for_shard(
        args: &KernelArgs,
        shard: Option<Shard>,
        results_file: Option<Inode>,
        threads: &Threads,
    ) -> Self {
        Self::default().select(args, shard, results_file, threads)
    }

    fn select(
        mut self,
        args: &KernelArgs,
        shard: Option<Shard>,
        results_file: Option<Inode>,
        threads: &Threads,
    ) -> Self {
        let selection = &mut self;
        selection.limits = Limits::new(args.max_bytes);
        let in_shard = |path: &Path| shard.is_none_or(|shard| shard.includes(path));
        if args.btf.is_empty() && in_shard(Path::new("")) {
            selection.sources.push(KernelSource::Running);
        }
        for path in &args.btf {
            if path.is_dir() {
                selection.add_dir(path, results_file, in_shard, threads);
            } else if in_shard(path.file_name().map_or(path, Path::new)) {
                selection.sources.push(KernelSource::from_path(path.clone(), args.base.clone()));
            }
        }
        for path in &args.module {
            if path.is_dir() {
                let (files, bad) = directory::find_files(path, results_file);
                selection.modules.extend(directory::retain_modules(files));
                selection.bad.extend(bad.into_iter().map(BadSource::from));
            } else {
                selection.modules.push(path.clone());
            }
        }
        if !selection.modules.is_empty() && selection.sources.len() > 1 {
            let what = format!(
                "modules belong to one kernel: found {} kernels, expected 1",
                selection.sources.len()
            );
            let bad = BadInput::new("--module", what).help("give one --btf");
            selection.bad.push(BadSource { id: None, bad });
            selection.sources.clear();
        }
        self
    }

    /// Selects images to boot. An image is a single file, never a directory or an archive.
    pub(crate) fn for_boot_images(paths: &[PathBuf], limits: Limits) -> Self {
        let source = |path: &PathBuf| KernelSource::File { path: path.clone(), base: None, is_listed: false };
        Self { sources: paths.iter().map(source).collect(), limits, ..Self::default() }
    }

    fn add_dir(
        &mut self,
        dir: &Path,
        results_file: Option<Inode>,
        in_shard: impl Fn(&Path) -> bool,
        threads: &Threads,
    ) {
        let mut found = directory::find_kernels(dir, results_file, self.limits, threads);
        self.take_modules(&mut found);
        if let Some(first) = found.modules.first() {
            let (shown, n, first) = (escape_path(dir), found.modules.len(), escape_path(first));
            self.notes.push(format!(
                "{shown}: {n} BTFs of modules skipped ({first}, …); to add them to their kernel: --btf KERNEL --module PATH"
            ));
        }
        let in_shard = |file: &Path| in_shard(file.strip_prefix(dir).unwrap_or(file));
        let has_no_kernel = found.kernels.is_empty();
        let kernels = found.kernels.into_iter().filter(|kernel| in_shard(kernel));
        self.sources.extend(kernels.map(KernelSource::from_listed_path));
        let bad = found.bad.into_iter().filter(|bad| has_no_kernel || in_shard(&bad.path));
        self.bad.extend(bad.map(BadSource::from));
        self.notes.extend(found.notes);
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

    /// Passes the kernels of a source that `is_wanted` accepts to `visit`. Returns a note about skipped members.
    pub(crate) fn visit_images(
        &self,
        source: &KernelSource,
        is_wanted: &dyn Fn(&KernelId) -> bool,
        visit: &mut ImageVisitor<'_>,
    ) -> Option<String> {
        let source_id = source.id();
        let KernelSource::Archive(path) = source else {
            let _: ControlFlow<()> =
                visit(&source_id, KernelImage::open(source, self.modules_of(source), self.limits));
            return None;
        };
        let read_member = |member: Member<'_>| {
            let path = member.path.clone();
            let content = member.read(self.limits)?;
            Ok(KernelImage::from_member(path, content, &self.modules, self.limits))
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
