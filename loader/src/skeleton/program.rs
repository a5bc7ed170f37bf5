//! [`Program`]: a program of a skeleton.

use crate::{
    attach::{AttachError, Link, ProgramRef},
    load::{Loaded, LoadedProgram},
};
use alloc::sync::Arc;
use core::{fmt, marker::PhantomData};

/// The target of a program that its section names, such as `kprobe/vfs_read`.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a type parameter without values")]
pub enum InSection {}

/// No target in the section's name, such as `kprobe`.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a type parameter without values")]
pub enum NoTarget {}

/// A program of a loaded object. `T` says whether its section names the target.
///
/// A program that was not loaded, by [`autoload`](crate::load_plan::ProgramSettings::autoload), has no
/// descriptor, and attaching fails.
pub struct Program<T = NoTarget> {
    loaded: Arc<Loaded>,
    name: &'static str,
    target: PhantomData<fn() -> T>,
}

impl<T> Program<T> {
    /// Creates the handle of a program.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { loaded: Arc::clone(loaded), name, target: PhantomData }
    }

    /// Creates the handle of a program, if the program was loaded.
    pub fn optional(loaded: &Arc<Loaded>, name: &'static str) -> Option<Self> {
        loaded.program(name).map(|_| Self::new(loaded, name))
    }

    /// Returns the program's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the loaded program, with its descriptor and log, or `None` if the program was not loaded.
    pub fn loaded(&self) -> Option<&LoadedProgram> {
        self.loaded.program(self.name)
    }

    /// Returns the program for attaching to a target that its section does not name:
    /// `program.program_ref()?.attach_xdp(…)`. Fails if the program was not loaded.
    pub fn program_ref(&self) -> Result<ProgramRef<'_>, AttachError> {
        self.loaded.program_ref(self.name)
    }
}

impl Program<InSection> {
    /// Attaches the program to the target that its section names.
    pub fn attach(&self) -> Result<Link, AttachError> {
        self.loaded.attach(self.name)
    }
}

impl<T> Clone for Program<T> {
    fn clone(&self) -> Self {
        Self::new(&self.loaded, self.name)
    }
}

impl<T> fmt::Debug for Program<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program").field(&self.name).finish()
    }
}
