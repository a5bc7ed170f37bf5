//! Kernels step by step: their file opened, its first bytes read, all of it read, parsed. Whoever knows a kernel by what is there
//! already need not take the next step.

use super::{
    file::{self, FileId, Limits, Opened},
    target::{self, Kernel, Place},
    unpack::{self, Read},
};
use crate::error::{BadInput, shown};
use core_relo::{Data, btf::Btf};
use core_relo_loader::target::TargetFile;
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

/// A kernel of which nothing was read, unless it is not to be had otherwise.
pub(crate) struct Unread<'s> {
    of: Step<'s, file::Unread<'s>>,
    with: With<'s>,
}

/// A kernel of whose file the first bytes were read.
pub(crate) struct Begun<'s> {
    of: Step<'s, Opened<'s>>,
    with: With<'s>,
}

/// A kernel whose file was read.
pub(crate) struct Unparsed<'s> {
    of: Parts<'s>,
    with: With<'s>,
}

/// What a kernel comes from, its file `F` as far as it was read.
enum Step<'s, F> {
    File { file: F, base: Option<&'s Path> },
    Member { path: PathBuf, bytes: Data<'static> },
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
            Place::Running => Step::Kernel(Box::new(target::running()?)),
            Place::File { path, base } => {
                Step::File { file: file::Unread::open(path)?, base: base.as_deref() }
            }
            Place::Archive(path) => {
                let bad = BadInput::at(path, "is an archive, expected one kernel");
                return Err(bad.help("unpack it, or give it to `check`, `plan` or `explain`"));
            }
            Place::Embedded { name, bytes } => {
                let btf = Btf::parse(*bytes).map_err(|e| BadInput::new(*name, e))?;
                Step::Kernel(Box::new(Kernel::new((*name).to_owned(), btf)))
            }
        };
        Ok(Self { of, with: With { modules, limits } })
    }

    /// A member of an archive, all of which was read.
    pub(super) fn of_member(
        path: PathBuf,
        bytes: Data<'static>,
        modules: &'s [PathBuf],
        limits: Limits,
    ) -> Self {
        Self { of: Step::Member { path, bytes }, with: With { modules, limits } }
    }

    /// The kernel's name, and which file decides what is said of it; none if there is more to it.
    pub(crate) fn id(&self) -> Option<(String, FileId)> {
        match &self.of {
            Step::File { file, .. } if self.with.modules.is_empty() => Some((shown(file.path), file.id?)),
            _ => None,
        }
    }

    /// Reads the first bytes of its file.
    pub(crate) fn begin(self) -> Result<Begun<'s>, BadInput> {
        let of = match self.of {
            Step::File { file, base } => Step::File { file: file.begin()?, base },
            Step::Member { path, bytes } => Step::Member { path, bytes },
            Step::Kernel(kernel) => Step::Kernel(kernel),
        };
        Ok(Begun { of, with: self.with })
    }

    pub(super) fn kernel(self) -> Result<Kernel, BadInput> {
        self.begin()?.read()?.parse()
    }
}

/// A file that would be read whole.
pub(crate) struct Whole<'b> {
    opened: &'b Opened<'b>,
    len: u64,
    used: Option<u64>,
}

impl<'s> Begun<'s> {
    /// The kernel's name, and the file all of whose bytes decide what is said of it; none if there is more to it, or they are not
    /// all read.
    pub(crate) fn whole(&self) -> Option<(String, Whole<'_>)> {
        match &self.of {
            Step::File { file: opened, .. } if self.with.modules.is_empty() => {
                let (len, used) = unpack::extent(opened, self.with.limits)?;
                Some((shown(opened.path), Whole { opened, len, used }))
            }
            _ => None,
        }
    }

    /// Reads the rest.
    pub(crate) fn read(self) -> Result<Unparsed<'s>, BadInput> {
        let limits = self.with.limits;
        let of = match self.of {
            Step::File { file, base } => Parts::Read {
                path: Cow::Borrowed(file.path),
                base: Base::File(base),
                read: unpack::read(file, limits)?,
            },
            Step::Member { path, bytes } => {
                Parts::Read { path: Cow::Owned(path), base: Base::None, read: Read::Whole(bytes) }
            }
            Step::Kernel(kernel) => Parts::Kernel(kernel),
        };
        Ok(Unparsed { of, with: self.with })
    }
}

impl Whole<'_> {
    /// The first bytes of those that count.
    pub(crate) fn head(&self) -> &[u8] {
        let head = &*self.opened.head;
        usize::try_from(self.len).ok().and_then(|len| head.get(..len)).unwrap_or(head)
    }

    /// How many bytes count.
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// All of them, as [`Opened::pieces`].
    pub(crate) fn pieces(&self, each: &mut dyn FnMut(&[u8])) -> bool {
        self.opened.pieces(self.used, each)
    }
}

impl Unparsed<'_> {
    /// The kernel's name, and the bytes that, together with a number, decide what is said of it; none if there is more to it.
    pub(crate) fn alone(&self) -> Option<(String, &[u8], u64)> {
        let Parts::Read { path, read, .. } = &self.of else { return None };
        let (bytes, also) = match read {
            Read::Whole(bytes) => (bytes, 0),
            Read::Types(file) if file.base.is_none() => {
                (&file.btf, u64::from(file.pointer_size().map_or(0, |size| size.0)))
            }
            Read::Types(_) => return None,
        };
        self.with.modules.is_empty().then(|| (shown(path), &**bytes, also))
    }

    pub(crate) fn parse(self) -> Result<Kernel, BadInput> {
        let With { modules, limits } = self.with;
        let kernel = match self.of {
            Parts::Read { path, base, read } => {
                let file = match read {
                    Read::Whole(bytes) => unpack::open_bytes(&path, bytes, limits)?,
                    Read::Types(file) => file,
                };
                of_file(&path, &file, base, limits)?
            }
            Parts::Kernel(kernel) => *kernel,
        };
        kernel.with_modules(modules, limits)
    }
}

fn of_file(path: &Path, file: &TargetFile, base: Base<'_>, limits: Limits) -> Result<Kernel, BadInput> {
    match base {
        Base::File(base) => target::from_file(path, file, base, limits),
        Base::None => Kernel::alone(path, file),
    }
}
