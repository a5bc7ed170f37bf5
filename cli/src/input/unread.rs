//! Kernels step by step: their file opened, read, parsed. Whoever knows a kernel by what is there already need not take the next step.

use super::{
    file::{self, FileId, Limits},
    target::{self, Kernel, Place},
    unpack::{self, Read},
};
use crate::error::{BadInput, shown};
use core_relo::btf::Btf;
use core_relo_loader::target::TargetFile;
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

/// A kernel of which nothing was read, unless it is not to be had otherwise.
pub(crate) struct Unread<'s> {
    of: Origin<'s>,
    with: With<'s>,
}

/// A kernel whose file was read.
pub(crate) struct Unparsed<'s> {
    of: Parts<'s>,
    with: With<'s>,
}

/// What a kernel comes from.
enum Origin<'s> {
    File { file: file::Fresh<'s>, base: Option<&'s Path> },
    Member { path: PathBuf, read: Read },
    Kernel(Box<Kernel>),
}

enum Parts<'s> {
    Read { path: Cow<'s, Path>, base: Base<'s>, read: Read },
    Kernel(Box<Kernel>),
}

/// Where to look for the kernel if the types turn out to be a module's.
#[derive(Clone, Copy)]
enum Base<'s> {
    /// There, or beside the file.
    File(Option<&'s Path>),
    /// An archive's member has none.
    None,
}

/// What else there is to a kernel.
#[derive(Clone, Copy)]
struct With<'s> {
    modules: &'s [PathBuf],
    limits: Limits,
}

impl<'s> Unread<'s> {
    pub(super) fn open(place: &'s Place, modules: &'s [PathBuf], limits: Limits) -> Result<Self, BadInput> {
        let of = match place {
            Place::Running => Origin::Kernel(Box::new(target::running()?)),
            Place::File { path, base } => {
                Origin::File { file: file::Fresh::open(path)?, base: base.as_deref() }
            }
            Place::Archive(path) => {
                let bad = BadInput::at(path, "is an archive, expected one kernel");
                return Err(bad.help("unpack it, or give it to `check`, `plan` or `explain`"));
            }
            Place::Embedded { name, bytes } => {
                let btf = Btf::parse(*bytes).map_err(|e| BadInput::new(*name, e))?;
                Origin::Kernel(Box::new(Kernel::new((*name).to_owned(), btf)))
            }
        };
        Ok(Self { of, with: With { modules, limits } })
    }

    /// A member of an archive, all of which was read.
    pub(super) fn of_member(path: PathBuf, read: Read, modules: &'s [PathBuf], limits: Limits) -> Self {
        Self { of: Origin::Member { path, read }, with: With { modules, limits } }
    }

    /// The file that alone decides what is said of the kernel; none if there is more to it.
    pub(crate) fn file(&self) -> Option<(&'s Path, FileId)> {
        match &self.of {
            Origin::File { file, .. } if self.with.modules.is_empty() => Some((file.path, file.id?)),
            _ => None,
        }
    }

    /// Reads it.
    pub(crate) fn read(self) -> Result<Unparsed<'s>, BadInput> {
        let limits = self.with.limits;
        let of = match self.of {
            Origin::File { file, base } => {
                let (path, read) = (file.path, unpack::read(file.begin()?, limits)?);
                Parts::Read { path: Cow::Borrowed(path), base: Base::File(base), read }
            }
            Origin::Member { path, read } => Parts::Read { path: Cow::Owned(path), base: Base::None, read },
            Origin::Kernel(kernel) => Parts::Kernel(kernel),
        };
        Ok(Unparsed { of, with: self.with })
    }

    pub(super) fn kernel(self) -> Result<Kernel, BadInput> {
        self.read()?.parse()
    }
}

/// A kernel's name, and the bytes that, together with a number, decide what is said of it.
pub(crate) struct Alone<'u> {
    pub(crate) name: String,
    pub(crate) bytes: &'u [u8],
    pub(crate) also: u64,
    /// Whether they are all that was read of its file.
    pub(crate) is_whole: bool,
}

impl Unparsed<'_> {
    /// What alone decides what is said of the kernel; none if there is more to it.
    pub(crate) fn alone(&self) -> Option<Alone<'_>> {
        let Parts::Read { path, read, .. } = &self.of else { return None };
        if !self.with.modules.is_empty() {
            return None;
        }
        let (bytes, also, is_whole) = match read {
            Read::Whole(bytes, _) => (bytes, 0, true),
            Read::Types(file) if file.base.is_none() => {
                (&file.btf, u64::from(file.pointer_size().map_or(0, |size| size.0)), false)
            }
            Read::Types(_) => return None,
        };
        Some(Alone { name: shown(path), bytes, also, is_whole })
    }

    pub(crate) fn parse(self) -> Result<Kernel, BadInput> {
        let With { modules, limits } = self.with;
        let kernel = match self.of {
            Parts::Read { path, base, read } => {
                let file = match read {
                    Read::Whole(bytes, budget) => unpack::open_bytes(&path, bytes, &budget)?,
                    Read::Types(file) => file,
                };
                of_file(&path, &file, base, limits)?
            }
            Parts::Kernel(kernel) => *kernel,
        };
        kernel.with_modules(modules, limits)
    }
}

/// Gives the bytes of a file that would be read whole to `each`, in pieces; says whether it is that file still.
pub(crate) fn read_again(path: &Path, id: FileId, limits: Limits, each: &mut dyn FnMut(&[u8])) -> bool {
    let mut again = || {
        let opened = file::Fresh::open(path).ok().filter(|file| file.id == Some(id))?.begin().ok()?;
        // Not further than it reached: it may be growing.
        let used = unpack::used(&opened, limits)?.unwrap_or(opened.len);
        Some(opened.pieces(Some(used), each) && opened.is_still(id))
    };
    again().unwrap_or(false)
}

fn of_file(path: &Path, file: &TargetFile, base: Base<'_>, limits: Limits) -> Result<Kernel, BadInput> {
    match base {
        Base::File(base) => target::from_file(path, file, base, limits),
        Base::None => Kernel::alone(path, file),
    }
}
