//! What cargo tells a build script.

use crate::{error::BuildError, manifest};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The output directory, and the machine that the crate is built for.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) out_dir: PathBuf,
    /// The dependencies of the package, as its code writes them.
    pub(crate) dependencies: Vec<String>,
    arch: String,
    is_big_endian: bool,
}

impl Environment {
    /// Reads cargo's variables. Outside of a build script, the output directory has to be given; the machine is this one.
    pub(crate) fn read(out_dir: Option<&PathBuf>) -> Result<Self, BuildError> {
        let out_dir = out_dir.cloned().or_else(|| env::var_os("OUT_DIR").map(PathBuf::from));
        let own_order = if cfg!(target_endian = "big") { "big" } else { "little" };
        let order = env::var("CARGO_CFG_TARGET_ENDIAN").unwrap_or_else(|_unset| own_order.into());
        Ok(Self {
            out_dir: out_dir.ok_or(BuildError::Environment { variable: "OUT_DIR" })?,
            dependencies: read_dependencies()?,
            arch: env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_else(|_unset| env::consts::ARCH.into()),
            is_big_endian: order == "big",
        })
    }

    /// Returns clang's target: BPF in the byte order of the machine.
    pub(crate) fn target(&self) -> &'static str {
        if self.is_big_endian { "bpfeb" } else { "bpfel" }
    }

    /// Returns the machine's name in `__TARGET_ARCH_…`, by which headers choose registers.
    pub(crate) fn header_arch(&self) -> &str {
        match self.arch.as_str() {
            "x86_64" => "x86",
            "aarch64" => "arm64",
            "powerpc64" => "powerpc",
            "riscv64" => "riscv",
            "s390x" => "s390",
            "mips64" => "mips",
            "loongarch64" => "loongarch",
            other => other,
        }
    }

    /// Returns the directory of this machine's headers such as `asm/types.h`, where distributions keep these apart.
    pub(crate) fn multiarch_headers(&self) -> Option<PathBuf> {
        let arch = if self.arch == "powerpc64" && !self.is_big_endian { "powerpc64le" } else { &self.arch };
        let directory = PathBuf::from(format!("/usr/include/{arch}-linux-gnu"));
        directory.is_dir().then_some(directory)
    }
}

/// Reads the dependencies of the package whose build script runs.
fn read_dependencies() -> Result<Vec<String>, BuildError> {
    let Some(directory) = env::var_os("CARGO_MANIFEST_DIR") else { return Ok(Vec::new()) };
    let path = Path::new(&directory).join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(BuildError::io(&path, "read it"))?;
    Ok(manifest::dependency_names(&text))
}
