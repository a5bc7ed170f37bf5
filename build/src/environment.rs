//! What cargo tells a build script.

use crate::{architecture, error::BuildError, manifest::Manifest};
use std::{
    env,
    path::{Path, PathBuf},
};

/// The output directory, and the machine that the crate is built for.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) out_dir: PathBuf,
    /// The manifest of the package. `None` outside of cargo.
    pub(crate) manifest: Option<Manifest>,
    /// The architecture, as cargo names it.
    pub(crate) arch: String,
    pub(crate) is_big_endian: bool,
    /// Whether the headers of the machine that builds stand in for those of the target.
    pub(crate) has_foreign_headers: bool,
}

/// The machine that programs run on, if it is not cargo's target.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// As `uname -m` prints it.
    pub(crate) name: String,
    pub(crate) is_big_endian: bool,
}

impl Environment {
    /// Reads cargo's variables. Outside of a build script, the output directory has to be given; the machine
    /// is this one.
    pub(crate) fn read(out_dir: Option<&PathBuf>) -> Result<Self, BuildError> {
        let out_dir = out_dir.cloned().or_else(|| env::var_os("OUT_DIR").map(PathBuf::from));
        let own_order = if cfg!(target_endian = "big") { "big" } else { "little" };
        let order = env::var("CARGO_CFG_TARGET_ENDIAN").unwrap_or_else(|_unset| own_order.into());
        Ok(Self {
            out_dir: out_dir.ok_or(BuildError::Environment { variable: "OUT_DIR" })?,
            manifest: read_manifest()?,
            arch: env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_else(|_unset| env::consts::ARCH.into()),
            is_big_endian: order == "big",
            has_foreign_headers: false,
        })
    }

    /// Returns the environment of a build for another machine. Its own headers may not be installed.
    pub(crate) fn for_machine(self, machine: &Machine) -> Result<Self, BuildError> {
        let arch = architecture::cargo_of_kernel(&machine.name);
        let arch = arch.ok_or_else(|| BuildError::UnknownMachine {
            machine: machine.name.clone(),
            known: architecture::machines().collect(),
        })?;
        Ok(Self {
            arch: arch.to_owned(),
            is_big_endian: machine.is_big_endian,
            has_foreign_headers: true,
            ..self
        })
    }

    /// Returns clang's target: BPF in the byte order of the machine.
    pub(crate) fn target(&self) -> &'static str {
        if self.is_big_endian { "bpfeb" } else { "bpfel" }
    }

    /// Returns the machine's name in `__TARGET_ARCH_…`, by which headers choose registers. `None` if they
    /// know no registers of it.
    pub(crate) fn header_arch(&self) -> Option<&'static str> {
        architecture::of_cargo(&self.arch)
    }

    /// Returns whether programs for the machine run on the kernel of the machine that builds.
    pub(crate) fn is_native(&self) -> bool {
        let is_same_order = self.is_big_endian == cfg!(target_endian = "big");
        is_same_order && architecture::is_native(&self.arch, env::consts::ARCH)
    }

    /// Returns the directory of this machine's headers such as `asm/types.h`, where distributions keep these
    /// apart.
    pub(crate) fn multiarch_headers(&self) -> Option<PathBuf> {
        let own = architecture::header_directories(&self.arch, self.is_big_endian);
        let foreign = architecture::header_directories(env::consts::ARCH, cfg!(target_endian = "big"));
        let foreign = foreign.into_iter().filter(|_| self.has_foreign_headers);
        own.into_iter().chain(foreign).map(PathBuf::from).find(|directory| directory.is_dir())
    }
}

/// Reads the manifest of the package whose build script runs.
fn read_manifest() -> Result<Option<Manifest>, BuildError> {
    match env::var_os("CARGO_MANIFEST_DIR") {
        Some(directory) => Manifest::read(Path::new(&directory)),
        None => Ok(None),
    }
}
