//! [`Builder`]: sources of BPF programs, compiled and turned into skeletons.

use crate::{
    clang::{self, Clang},
    compile::{self, Compilation},
    environment::{Environment, Machine},
    error::BuildError,
    headers,
    manifest::Manifest,
    output,
    runner::Runner,
    skeleton::{self, generate},
    source_options::SourceOptions,
    vmlinux::{self, KernelTypes},
};
use alloc::collections::BTreeMap;
use core_relo::Endian;
use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The environment variable with further arguments for clang, separated by spaces.
const CFLAGS: &str = "BPF_CFLAGS";

/// Compiles sources of BPF programs and generates their skeletons, in a build script.
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), core_relo_build::BuildError> {
///     core_relo_build::Builder::new().source("src/bpf/agent.bpf.c").build()?;
///     Ok(())
/// }
/// ```
///
/// The crate then includes the skeleton by `core_relo_loader::include_skeleton!("agent")`.
///
/// A source can include `core_relo.h` and the headers of `bpf/`, which this crate contains. Cargo runs the
/// build script again if a source or a header that it includes changes. Programs are compiled for the byte
/// order of cargo's target.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    sources: Vec<PathBuf>,
    clang: Option<PathBuf>,
    clang_args: Vec<OsString>,
    out_dir: Option<PathBuf>,
    vmlinux: Option<KernelTypes>,
    machine: Option<Machine>,
    skeleton: skeleton::Options,
}

/// The files of a compiled source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Built {
    /// The name of the skeleton: the source's file name without `.bpf.c`.
    pub name: String,
    /// The path of the BPF object.
    pub object: PathBuf,
    /// The path of the skeleton.
    pub skeleton: PathBuf,
}

/// Sources after the preprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preprocessed {
    /// The text, with line markers.
    pub text: Vec<u8>,
    /// The directory of the headers that this crate has written.
    pub headers: PathBuf,
}

impl Builder {
    /// Creates a builder without sources.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source, `NAME.bpf.c`, whose skeleton is called `NAME`.
    #[must_use]
    pub fn source(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.push(path.into());
        self
    }

    /// Adds a directory of headers.
    #[must_use]
    pub fn include_dir(self, path: impl AsRef<Path>) -> Self {
        let mut argument = OsString::from("-I");
        argument.push(path.as_ref());
        self.clang_arg(argument)
    }

    /// Defines a macro.
    #[must_use]
    pub fn define(self, name: &str, value: &str) -> Self {
        self.clang_arg(format!("-D{name}={value}"))
    }

    /// Adds an argument of clang, such as `-mcpu=v2`. Later arguments take precedence.
    #[must_use]
    pub fn clang_arg(mut self, argument: impl Into<OsString>) -> Self {
        self.clang_args.push(argument.into());
        self
    }

    /// Sets the machine that the programs run on, as `uname -m` prints it, and its byte order. The default is
    /// cargo's target, and outside of cargo this machine. A build for a machine whose registers the headers
    /// do not know is an error.
    ///
    /// Sources see `__TARGET_ARCH_…` of the machine. Where its headers, such as `asm/types.h`, are not
    /// installed, they see those of this machine.
    #[must_use]
    pub fn machine(mut self, name: &str, endian: Endian) -> Self {
        self.machine = Some(Machine { name: name.to_owned(), is_big_endian: endian == Endian::Big });
        self
    }

    /// Sets the path of clang. The default is the environment variable `CLANG`, else `clang`, else the newest
    /// `clang-NN` in `PATH`.
    #[must_use]
    pub fn clang(mut self, path: impl Into<PathBuf>) -> Self {
        self.clang = Some(path.into());
        self
    }

    /// Writes `vmlinux.h`, the types of the running kernel, for sources that include it.
    ///
    /// The machine that builds then needs a kernel with BTF, and cargo's target is this machine. A small
    /// header made by `core-relo gen vmlinux`, kept beside the sources, makes builds independent of the
    /// machine; so does [`vmlinux_of`](Self::vmlinux_of).
    #[must_use]
    pub fn vmlinux_of_running_kernel(mut self) -> Self {
        self.vmlinux = Some(KernelTypes::Running);
        self
    }

    /// Writes `vmlinux.h`, the types of a kernel in a file, for sources that include it.
    ///
    /// The file is BTF (a copy of `/sys/kernel/btf/vmlinux`), an ELF file with BTF (`vmlinux`), or an archive
    /// from `core-relo btf min`. Of an archive, the newest kernel of cargo's target counts. The kernel has to
    /// be one of cargo's target, because registers and system calls differ.
    #[must_use]
    pub fn vmlinux_of(mut self, path: impl Into<PathBuf>) -> Self {
        self.vmlinux = Some(KernelTypes::File(path.into()));
        self
    }

    /// Sets the output directory. The default is cargo's `OUT_DIR`.
    #[must_use]
    pub fn out_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(path.into());
        self
    }

    /// Sets the type of the events of a ring buffer or perf event array, for sources without `EVENT_TYPE`. Of
    /// several sources, it holds for those that have the map.
    #[must_use]
    pub fn event(mut self, map: &str, ty: &str) -> Self {
        self.skeleton.events.push((map.to_owned(), ty.to_owned()));
        self
    }

    /// Makes the field of a map an `Option`, for a map that may be left out of the load:
    /// `open.maps.NAME.autocreate = Some(false)`. Of several sources, it holds for those that have the map.
    #[must_use]
    pub fn optional_map(mut self, map: &str) -> Self {
        self.skeleton.optional_maps.push(map.to_owned());
        self
    }

    /// Sets the options of the skeletons. What [`event`](Self::event) and
    /// [`optional_map`](Self::optional_map) have set stays.
    ///
    /// Of several sources, events, types and optional maps hold for those that have them.
    #[must_use]
    pub fn skeleton_options(mut self, mut options: skeleton::Options) -> Self {
        options.events.splice(..0, self.skeleton.events);
        options.optional_maps.splice(..0, self.skeleton.optional_maps);
        self.skeleton = options;
        self
    }

    /// Compiles the sources and generates their skeletons. Prints cargo's directives, and clang's warnings as
    /// cargo's.
    pub fn build(&self) -> Result<Vec<Built>, BuildError> {
        self.build_with(&mut io::stdout().lock())
    }

    /// Builds as [`build`](Self::build), and writes cargo's directives to `directives`.
    pub fn build_with(&self, directives: &mut dyn Write) -> Result<Vec<Built>, BuildError> {
        self.build_for(&self.environment()?, directives)
    }

    /// Builds for a machine.
    pub(crate) fn build_for(
        &self,
        environment: &Environment,
        directives: &mut dyn Write,
    ) -> Result<Vec<Built>, BuildError> {
        let names = self.names(environment.manifest.as_ref())?;
        let mut print = |line: String| {
            writeln!(directives, "cargo::{line}")
                .map_err(BuildError::io("stdout", "write cargo's directives"))
        };
        for variable in [clang::CLANG, CFLAGS] {
            print(format!("rerun-if-env-changed={variable}"))?;
        }
        // A new dependency may have the name of a skeleton.
        if let Some(manifest) = &environment.manifest {
            print(format!("rerun-if-changed={}", manifest.path.display()))?;
        }
        // Before the compilation, which may fail.
        for source in names.values() {
            print(format!("rerun-if-changed={}", source.display()))?;
        }
        let clang = Clang::find(self.clang.as_deref(), Runner::default())?;
        let include = headers::write(&environment.out_dir)?;
        if let Some(KernelTypes::File(path)) = &self.vmlinux {
            print(format!("rerun-if-changed={}", path.display()))?;
        }
        let vmlinux = self.vmlinux.as_ref().map(|types| types.write(environment)).transpose()?;
        let arguments = self.arguments()?;
        let mut options = SourceOptions::new(&self.skeleton);
        let mut built = Vec::new();
        for (name, source) in names {
            let object = environment.out_dir.join(format!("{name}.bpf.o"));
            let request = Compilation {
                clang: &clang,
                environment,
                include: &include,
                vmlinux: vmlinux.as_deref(),
                arguments: &arguments,
                source,
                object: &object,
            };
            let compiled = compile::compile(&request)?;
            for line in compiled.warnings.lines() {
                print(format!("warning={line}"))?;
            }
            // The headers in the output directory are new on each run.
            for header in compiled.dependencies.iter().filter(|path| !path.starts_with(&environment.out_dir))
            {
                print(format!("rerun-if-changed={}", header.display()))?;
            }
            let skeleton = environment.out_dir.join(format!("{name}.skel.rs"));
            let bytes = fs::read(&object).map_err(BuildError::io(&object, "read it"))?;
            let text = options
                .of_object(&bytes)
                .and_then(|options| generate(&bytes, &name, &options))
                .map_err(|cause| BuildError::Skeleton { source_file: source.clone(), cause })?;
            output::replace(&skeleton, text.as_bytes())?;
            built.push(Built { name, object, skeleton });
        }
        options.check_used()?;
        Ok(built)
    }

    /// Returns the text of the sources after the preprocessor, with line markers, one after the other.
    /// Programs such as the generator of a small `vmlinux.h` find the names of kernel types in it.
    ///
    /// `vmlinux` is the text of the `vmlinux.h` that the sources include. It is written below the output
    /// directory, as are this crate's headers.
    pub fn preprocess(&self, vmlinux: &str) -> Result<Preprocessed, BuildError> {
        self.preprocess_with(vmlinux, Runner::default())
    }

    /// Returns the text as [`preprocess`](Self::preprocess), and stops clang when `is_cancelled` is true,
    /// with the error [`BuildError::Cancelled`]. A program that removes the output directory when a signal
    /// arrives needs that.
    pub fn preprocess_until(
        &self,
        vmlinux: &str,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Preprocessed, BuildError> {
        self.preprocess_with(vmlinux, Runner::cancelled_by(is_cancelled))
    }

    fn preprocess_with(&self, vmlinux: &str, runner: Runner<'_>) -> Result<Preprocessed, BuildError> {
        let environment = self.environment()?;
        let clang = Clang::find(self.clang.as_deref(), runner)?;
        let headers = headers::write(&environment.out_dir)?;
        let vmlinux = vmlinux::write_text(&environment.out_dir, vmlinux)?;
        let arguments = self.arguments()?;
        let mut text = Vec::new();
        for source in &self.sources {
            let object = environment.out_dir.join("preprocessed");
            let request = Compilation {
                clang: &clang,
                environment: &environment,
                include: &headers,
                vmlinux: Some(&vmlinux),
                arguments: &arguments,
                source,
                object: &object,
            };
            text.append(&mut compile::preprocess(&request, runner)?);
        }
        Ok(Preprocessed { text, headers })
    }

    /// Returns cargo's settings, for the machine that the caller has set.
    fn environment(&self) -> Result<Environment, BuildError> {
        let environment = Environment::read(self.out_dir.as_ref())?;
        match &self.machine {
            Some(machine) => environment.for_machine(machine),
            None => Ok(environment),
        }
    }

    /// Returns the caller's arguments for clang.
    fn arguments(&self) -> Result<Vec<OsString>, BuildError> {
        let mut arguments = self.clang_args.clone();
        if let Some(flags) = env::var_os(CFLAGS) {
            let flags = flags.to_str().ok_or(BuildError::NotText { variable: CFLAGS })?;
            arguments.extend(flags.split_whitespace().map(OsString::from));
        }
        Ok(arguments)
    }

    /// Returns the sources by the names of their skeletons.
    fn names(&self, manifest: Option<&Manifest>) -> Result<BTreeMap<String, &PathBuf>, BuildError> {
        let mut names = BTreeMap::new();
        let is_dependency =
            |module: &String| manifest.is_some_and(|manifest| manifest.dependencies.contains(module));
        for source in &self.sources {
            let file_name = source.file_name().and_then(|name| name.to_str());
            let name = file_name.and_then(|name| name.strip_suffix(".bpf.c").or(name.strip_suffix(".c")));
            let name = name.filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| BuildError::SourceName { source_file: source.clone() })?.to_owned();
            let module = skeleton::module_name(&name);
            if skeleton::is_crate(&module) || is_dependency(&module) {
                return Err(BuildError::CrateName { source_file: source.clone(), module });
            }
            if let Some(other) = names.insert(name.clone(), source) {
                return Err(BuildError::SameName { files: [other.clone(), source.clone()], name });
            }
        }
        if names.is_empty() { Err(BuildError::NoSource) } else { Ok(names) }
    }
}
