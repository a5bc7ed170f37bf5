//! Errors of kernels as bad input, with remedies that name options of the command.

use crate::error::BadInput;
use core_relo::Endian;
use core_relo_kernels::{Defect, Exceeded, InputError, Note, Scope};

/// The forms of BTF that the command reads.
const BTF_FORMS: &str =
    "expected raw BTF, an ELF with .BTF (vmlinux, .ko, BPF object), a vmlinuz or a package of a kernel";

impl From<&InputError> for BadInput {
    fn from(error: &InputError) -> Self {
        let bad = match &error.defect {
            Defect::ModulesOfSeveralKernels { .. } => Self::new("--module", &error.defect),
            _ => Self::for_path(&error.path, error.what()),
        };
        match remedy(&error.defect) {
            Some(help) => bad.help(help),
            None => bad,
        }
    }
}

impl From<InputError> for BadInput {
    fn from(error: InputError) -> Self {
        Self::from(&error)
    }
}

/// Returns what the user can do about a defect.
fn remedy(defect: &Defect) -> Option<&'static str> {
    Some(match defect {
        Defect::InputIsDevice => "redirect it from a file: `< FILE`",
        Defect::NotAFile => "write its content to a file first, or give it as standard input (`-`)",
        Defect::Generated => "write its content to a file first",
        Defect::InputUsedTwice => "write its content to a file first, and name the file twice",
        Defect::NoOption => "give a copy of /boot/config-$(uname -r) or /proc/config.gz",
        Defect::NoSymbol => "give a copy of /proc/kallsyms, or a System.map",
        Defect::Empty | Defect::NoBtfFound => BTF_FORMS,
        Defect::EmptyArchive => "expected a tar archive",
        Defect::Exceeded(exceeded) | Defect::Stream { exceeded: Some(exceeded), .. } => {
            raise_limit(*exceeded)
        }
        Defect::IsArchive { has_archive_name: true } => {
            "BTF of one kernel is expected here: unpack the archive and name one of its files"
        }
        Defect::IsArchive { has_archive_name: false } => {
            "give it a name that ends in .tar, .tar.gz, .tar.xz or .tar.zst"
        }
        Defect::NotOneKernel => "unpack it, or give it to `check`, `plan` or `explain`",
        Defect::NoBtf => "was the kernel built with CONFIG_DEBUG_INFO_BTF, the object with -g?",
        Defect::ForeignModule(_) => "does it belong to this kernel?",
        Defect::ModuleOrDamaged(_) => "if it is BTF of a module, give its kernel with --base PATH",
        Defect::ModuleInArchive(_) => "it is BTF of a module: unpack it and its kernel",
        Defect::ModuleWithoutBase => "give its kernel with --base PATH",
        Defect::RunningKernel(_) => "give the BTF of a kernel with --btf PATH",
        Defect::ModulesOfSeveralKernels { .. } => "give one --btf",
        Defect::MinimalBtf => "write the BTF with `btf min --verdicts`, or use `plan`",
        Defect::ByteOrder { kernel: Endian::Little, .. } => "compile the object with --target=bpfel",
        Defect::ByteOrder { kernel: Endian::Big, .. } => "compile the object with --target=bpfeb",
        Defect::PackagedKernelWithoutBtf { .. } => {
            "make BTF of the vmlinux with debug information: `core-relo btf encode`"
        }
        Defect::MissingDebugFile { .. } => {
            "put it beside the file, or install the package with the kernel's debug information"
        }
        Defect::PackageWithoutKernel { module_count: 1.., .. } => {
            "give it together with the package of the kernel image"
        }
        Defect::NoKernel => {
            "expected raw BTF, vmlinux or vmlinuz files in it, packages of kernels, or tar archives"
        }
        _ => return None,
    })
}

/// Returns what the user can do about a file that unpacks to too much.
const fn raise_limit(exceeded: Exceeded) -> &'static str {
    match exceeded {
        Exceeded::Bytes { scope: Scope::Archive, .. } => {
            "unpack it first, or raise --max-bytes: an archive may unpack to 64 times that"
        }
        Exceeded::Layers => "unpack it first",
        _ => "unpack it first, or raise --max-bytes where the command has it",
    }
}

/// Returns the text of a note about skipped files.
pub(crate) fn note_text(note: &Note) -> String {
    let remedy = match note {
        Note::Modules(_) => "; to add them to their kernel: --btf KERNEL --module PATH",
        note if note.skips_modules() => {
            "; to use them, unpack the archive and give --btf KERNEL --module PATH"
        }
        _ => "",
    };
    format!("{note}{remedy}")
}
