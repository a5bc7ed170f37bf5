//! Loader programs: BPF programs that load an object (light skeletons).
//!
//! A loader program is a program of type `BPF_PROG_TYPE_SYSCALL`. It creates the maps of an object and loads
//! its BTF and its programs from within the kernel, with `bpf_sys_bpf`. Its data is the value of one map: the
//! attributes of each request, instructions, BTF, initial values. A [`LoaderFile`] has the instructions, the
//! data, and the names of what the program loads. A signature over the instructions also covers the data, if
//! the program [checks the hash of its data](LoaderFile::checks_data). Linux 7.3 verifies one over both.

pub mod context;
mod file;
mod generate;
mod plans;
mod step;

pub use file::{LoaderFile, LoaderFileError, LoaderMap, LoaderProgram, LoaderSignatures};
pub use generate::{LoaderOptions, LoaderProgramError};
pub use step::{LoaderStep, StepKind};
