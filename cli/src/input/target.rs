//! Kernels to relocate against: the running one, files, folders; and their modules.

use super::{
    archive,
    file::{self, Limits},
    folder::{self, BadFolder},
    kernel_id::KernelId,
    shard::Shard,
    unpack,
    unread::Unread,
};
use crate::{
    args::Targets,
    error::{BadInput, shown},
    threads::Threads,
};
use core_relo::{
    Endian, Plan, Relocs, Target,
    btf::{Btf, BtfError, ModuleFilter},
};
use core_relo_loader::target::{self, TargetError, TargetFile};
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What the main BTF is called where candidates are listed.
const MAIN: &str = "vmlinux";

/// Where a kernel is to be had from. Nothing was read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The running kernel.
    Running,
    /// A file, and the kernel it is a module of if that was said.
    File { path: PathBuf, base: Option<PathBuf> },
    /// A tar archive of any number of kernels.
    Archive(PathBuf),
    /// Bytes that come with this program.
    Embedded { name: &'static str, bytes: &'static [u8] },
}

/// Bad input where kernels were looked for.
#[derive(Debug)]
pub(crate) struct BadPlace {
    /// The place; `None` if the input is not a place.
    pub(crate) id: Option<KernelId>,
    pub(crate) bad: BadInput,
}

impl From<BadFolder> for BadPlace {
    fn from(BadFolder { path, bad }: BadFolder) -> Self {
        Self { id: Some(KernelId::File(path.into_os_string())), bad }
    }
}

/// A function that takes kernels until it breaks.
pub(crate) type UnreadVisitor<'v> =
    dyn FnMut(&KernelId, Result<Unread<'_>, BadInput>) -> ControlFlow<()> + 'v;

/// What a selection of kernels comes to.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) places: Vec<Place>,
    /// BTF of modules, to be added to the one place.
    pub(crate) modules: Vec<PathBuf>,
    pub(crate) bad: Vec<BadPlace>,
    pub(crate) notes: Vec<String>,
    pub(crate) limits: Limits,
}

impl Selection {
    pub(crate) fn of(targets: &Targets) -> Self {
        Self::part_of(targets, None, &Threads::none())
    }

    /// Those of a shard; what is bad is of one as well, but for a folder without kernels, and modules are of all.
    pub(crate) fn part_of(targets: &Targets, shard: Option<Shard>, threads: &Threads) -> Self {
        let mut all = Self { limits: Limits::of(targets.max_bytes), ..Self::default() };
        let has = |path: &Path| shard.is_none_or(|shard| shard.has(path));
        if targets.btf.is_empty() && has(Path::new("")) {
            all.places.push(Place::Running);
        }
        for path in &targets.btf {
            if path.is_dir() {
                let found = folder::look_through(path, all.limits, threads);
                let within = |file: &Path| has(file.strip_prefix(path).unwrap_or(file));
                // Each part would find nothing there, and should not be taken for one that found nothing wrong.
                let is_empty = found.kernels.is_empty();
                let kernels = found.kernels.into_iter().filter(|kernel| within(kernel));
                all.places.extend(kernels.map(|path| Place::file(path, None)));
                let bad = found.bad.into_iter().filter(|bad| is_empty || within(&bad.path));
                all.bad.extend(bad.map(BadPlace::from));
                all.notes.extend(found.note);
            } else if has(path.file_name().map_or(path, Path::new)) {
                all.places.push(Place::file(path.clone(), targets.base.clone()));
            }
        }
        for path in &targets.module {
            match path.is_dir() {
                true => {
                    let (files, bad) = folder::files(path);
                    all.modules.extend(folder::modules_among(files));
                    all.bad.extend(bad.into_iter().map(BadPlace::from));
                }
                false => all.modules.push(path.clone()),
            }
        }
        if !all.modules.is_empty() && all.places.len() > 1 {
            let what = format!("modules belong to one kernel, {} were given", all.places.len());
            all.bad.push(BadPlace { id: None, bad: BadInput::new("--module", what).help("give one --btf") });
            all.places.clear();
        }
        all
    }

    /// Passes the kernels of one place to `each`, one after the other, until it breaks. Returns a note about what was passed over.
    pub(crate) fn kernels(
        &self,
        place: &Place,
        each: &mut dyn FnMut(Result<Kernel, BadInput>) -> ControlFlow<()>,
    ) -> Option<String> {
        self.unread(place, &|_| true, &mut |_, unread| each(unread.and_then(Unread::kernel)))
    }

    /// The same, as far as possible not read yet, and only of the kernels that `wanted` accepts.
    pub(crate) fn unread(
        &self,
        place: &Place,
        wanted: &dyn Fn(&KernelId) -> bool,
        each: &mut UnreadVisitor<'_>,
    ) -> Option<String> {
        let own = place.id();
        let Place::Archive(path) = place else {
            let _: ControlFlow<()> = each(&own, Unread::open(place, &self.modules, self.limits));
            return None;
        };
        let of_member = |member: archive::Member<'_>| {
            let path = member.path.clone();
            let read = member.read(self.limits)?;
            Ok(Unread::of_member(path, read, &self.modules, self.limits))
        };
        let members = archive::members(path, self.limits, &mut |member| {
            let id = KernelId::Member { archive: path.clone().into_os_string(), index: member.index };
            if wanted(&id) { each(&id, of_member(member)) } else { ControlFlow::Continue(()) }
        });
        members.unwrap_or_else(|bad| {
            if wanted(&own) {
                let _: ControlFlow<()> = each(&own, Err(bad));
            }
            None
        })
    }
}

impl Place {
    /// A file, by its name an archive or not.
    fn file(path: PathBuf, base: Option<PathBuf>) -> Self {
        if archive::is_archive(&path) { Self::Archive(path) } else { Self::File { path, base } }
    }

    /// Returns the identity of the kernel, or of an archive as a whole.
    pub(crate) fn id(&self) -> KernelId {
        match self {
            Self::Running => KernelId::Running(release()),
            Self::File { path, .. } | Self::Archive(path) => KernelId::File(path.clone().into_os_string()),
            Self::Embedded { name, .. } => KernelId::Embedded((*name).to_owned()),
        }
    }
}

/// A kernel, read and parsed.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// What it is called.
    pub(crate) name: String,
    pub(crate) target: Target<'static>,
    /// Whether more modules are to be had from the running kernel if they are wanted.
    more_modules: bool,
}

impl Kernel {
    /// Reads a kernel, and the modules given with it.
    pub(crate) fn open(place: &Place, modules: &[PathBuf], limits: Limits) -> Result<Self, BadInput> {
        Unread::open(place, modules, limits)?.kernel()
    }

    pub(super) fn with_modules(mut self, modules: &[PathBuf], limits: Limits) -> Result<Self, BadInput> {
        let mut opened = Vec::new();
        for path in modules {
            opened.push((module_name(path), open_module(path, &self.target.main().btf, limits)?));
        }
        if !opened.is_empty() {
            self.target = self.target.with_modules(opened);
        }
        Ok(self)
    }

    /// A kernel whose file was read.
    pub(super) fn alone(path: &Path, file: &TargetFile) -> Result<Self, BadInput> {
        let btf = file.parse_validated(None).map_err(|e| {
            let bad = BadInput::at(path, file::reason(&e.to_string(), path));
            if wants_base(&e) { bad.help("it is BTF of a module: unpack it and its kernel") } else { bad }
        })?;
        Ok(Self::new(shown(path), btf))
    }

    pub(super) fn new(name: String, btf: Btf<'static>) -> Self {
        Self { name, target: Target::new(MAIN, Arc::new(btf)), more_modules: false }
    }

    /// Fetches the running kernel's modules if one of `relocs` has a type that the kernel itself has not.
    pub(crate) fn complete_for(&mut self, relocs: &[&Relocs<'_>]) {
        if !self.more_modules {
            return;
        }
        let plans = Plan::for_objects(relocs, &self.target);
        if !plans.iter().any(Plan::needs_modules) {
            return;
        }
        self.more_modules = false;
        let base = Arc::clone(&self.target.main().btf);
        let mut module_filter = ModuleFilter::new(&base, plans.iter().flat_map(Plan::names_for_modules));
        let files = target::modules().unwrap_or_else(|e| {
            log::warn!("modules of the running kernel are left out: {e}");
            Vec::new()
        });
        let (mut opened, mut passed_over) = (Vec::new(), 0usize);
        for module in files {
            let parsed = module.open().and_then(|file| match file.may_have(&mut module_filter) {
                true => file.parse_validated(Some(&base)).map(Some),
                false => Ok(None),
            });
            match parsed {
                Ok(Some(btf)) => opened.push((module.name, Arc::new(btf))),
                Ok(None) => passed_over += 1,
                Err(e) => log::warn!("a module is left out: {e}"),
            }
        }
        log::info!("{} modules of the running kernel are looked at, {passed_over} passed over", opened.len());
        self.target = self.target.clone().with_modules(opened).with_modules_passed_over(passed_over);
    }

    /// An error if an object's byte order is another.
    pub(crate) fn check_order(&self, object: Endian) -> Result<(), BadInput> {
        let own = self.target.main().btf.endian();
        if own == object {
            return Ok(());
        }
        let what = format!("the kernel is {}-endian, the object {}-endian", order(own), order(object));
        let bpf = if own == Endian::Little { "bpfel" } else { "bpfeb" };
        Err(BadInput::new(&*self.name, what).help(format!("compile the object with --target={bpf}")))
    }
}

pub(crate) fn order(endian: Endian) -> &'static str {
    match endian {
        Endian::Little => "little",
        Endian::Big => "big",
    }
}

pub(super) fn running() -> Result<Kernel, BadInput> {
    let no_btf =
        |e: TargetError| BadInput::new("running kernel", e).help("give the BTF of a kernel with --btf PATH");
    let found = target::kernel().map_err(no_btf)?;
    let btf = found.parse_validated(None).map_err(no_btf)?;
    Ok(Kernel { more_modules: true, ..Kernel::new(format!("linux {} (running)", release()), btf) })
}

fn release() -> String {
    target::release().unwrap_or_else(|_| "unknown".to_owned())
}

pub(super) fn from_file(
    path: &Path,
    file: &TargetFile,
    base: Option<&Path>,
    limits: Limits,
) -> Result<Kernel, BadInput> {
    let name = shown(path);
    let alone = file.parse_validated(None);
    let is_module = file.base.is_some() || alone.as_ref().is_err_and(wants_base);
    if !is_module {
        let btf = alone.map_err(|e| BadInput::at(path, file::reason(&e.to_string(), path)))?;
        return Ok(Kernel::new(name, btf));
    }
    let base = match base {
        Some(base) => base.to_path_buf(),
        None => beside(path).ok_or_else(|| no_base(path, alone.as_ref().err()))?,
    };
    let kernel = from_file(&base, &unpack::open(&base, limits)?, None, limits)?;
    let module = parse_on(path, file, &kernel.target.main().btf)?;
    let target = kernel.target.with_modules([(module_name(path), Arc::new(module))]);
    Ok(Kernel { name, target, more_modules: false })
}

/// What to say of BTF that could be a module's if its kernel is not there.
pub(crate) fn no_base(path: &Path, alone: Option<&TargetError>) -> BadInput {
    match alone {
        // A module's strings go on where its kernel's end; here they begin, and something refers beyond their end.
        Some(e @ TargetError::Btf { cause: BtfError::TypeRef { .. } | BtfError::NameRef { .. }, .. }) => {
            let what = file::reason(&e.to_string(), path);
            BadInput::at(path, what).help("if it is BTF of a module, give its kernel with --base PATH")
        }
        _ => BadInput::at(path, "is BTF of a module").help("give its kernel with --base PATH"),
    }
}

/// The kernel that a module's BTF belongs to: `vmlinux` in the same folder.
pub(crate) fn beside(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let found = ["vmlinux", "vmlinux.btf"].iter().map(|name| folder.join(name)).find(|p| p.is_file())?;
    (found.file_name() != path.file_name()).then_some(found)
}

/// Whether an error is what BTF of a module gives when it is read without its kernel's.
pub(crate) fn wants_base(e: &TargetError) -> bool {
    matches!(
        e,
        TargetError::Btf {
            cause: BtfError::Strings { split_without_base: true, .. }
                | BtfError::TypeRef { split_without_base: true, .. }
                | BtfError::NameRef { split_without_base: true, .. },
            ..
        }
    )
}

fn open_module(path: &Path, base: &Arc<Btf<'static>>, limits: Limits) -> Result<Arc<Btf<'static>>, BadInput> {
    let file = unpack::open(path, limits)?;
    parse_on(path, &file, base).map(Arc::new)
}

pub(crate) fn parse_on(
    path: &Path,
    file: &TargetFile,
    base: &Arc<Btf<'static>>,
) -> Result<Btf<'static>, BadInput> {
    file.parse_validated(Some(base)).map_err(|e| {
        BadInput::at(path, file::reason(&e.to_string(), path)).help("does it belong to this kernel?")
    })
}

/// `veth` of `/lib/modules/…/veth.ko.xz`.
fn module_name(path: &Path) -> String {
    let file = path.file_name().map(Path::new).map(shown).unwrap_or_default();
    let name = file.split('.').next().unwrap_or_default();
    name.replace('-', "_")
}
