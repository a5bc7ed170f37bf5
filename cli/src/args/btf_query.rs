//! The arguments of `btf find`, `btf layout` and `btf offset`.

use crate::format::Format;
use clap::{Args, ValueEnum, ValueHint};
use core_relo::btf::Kind;
use core_relo_report::policy::Glob;
use std::path::PathBuf;

pub(crate) const BTF_FIND_HELP: &str = "Examples:
  core-relo btf find --name 'tcp_*' --kind struct
  core-relo btf find vmlinux.btf --member sk_wmem_alloc
  core-relo btf find /sys/kernel/btf --users 'struct tcp_sock' --format json

Without PATH, searches the running kernel and its modules. Exit status 0 if something was found, 1 if nothing, 2 for bad input.";
pub(crate) const BTF_LAYOUT_HELP: &str = "Examples:
  core-relo btf layout task_struct
  core-relo btf layout 'union bpf_attr' --btf vmlinux.btf --expand
  core-relo btf layout sk_buff --cache-line 128 --format json

Offsets and sizes are in bytes; bitfields have their bits after a colon.";
pub(crate) const BTF_OFFSET_HELP: &str = "Examples:
  core-relo btf offset task_struct.mm.pgd
  core-relo btf offset 'sk_buff.cb[8]' --btf vmlinux.btf --format json

A pointer on the way ends a step; the next line is counted from the start of what it points to.";

#[derive(Debug, Args)]
pub(crate) struct BtfFindArgs {
    /// File or directory: raw BTF, an ELF with .BTF, a vmlinuz; modules lie beside their `vmlinux` [default:
    /// /sys/kernel/btf]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Types whose names match a pattern; `*` stands for any characters, `?` for one; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) name: Vec<Glob>,
    /// Types of these kinds
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    pub(crate) kind: Vec<TypeKind>,
    /// Structs and unions with a member of this name, also in anonymous members
    #[arg(long, value_name = "NAME")]
    pub(crate) member: Option<String>,
    /// Types of this size in bytes
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<u32>,
    /// Types, functions and variables that use this type, by value or through pointers
    #[arg(long, value_name = "TYPE")]
    pub(crate) users: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The BTF that a query reads.
#[derive(Debug, Args)]
pub(crate) struct BtfSource {
    /// BTF to read: raw BTF, an ELF with .BTF, a vmlinuz or a package [default: the running kernel's]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) btf: Option<PathBuf>,
    /// Base BTF of the split BTF in PATH [default: `vmlinux` in the same directory]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, requires = "btf")]
    pub(crate) base: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BtfLayoutArgs {
    /// Struct, union or typedef, such as `task_struct` or `union bpf_attr`
    #[arg(value_name = "TYPE")]
    pub(crate) ty: String,
    #[command(flatten)]
    pub(crate) source: BtfSource,
    /// Show the members of members, too
    #[arg(long)]
    pub(crate) expand: bool,
    /// Size of a cache line in bytes
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) cache_line: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct BtfOffsetArgs {
    /// Type and members: `task_struct.mm.pgd`, `sk_buff.cb[8]`
    #[arg(value_name = "FIELD")]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) source: BtfSource,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The kinds of types that `btf find` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TypeKind {
    Int,
    Float,
    Struct,
    Union,
    Enum,
    Typedef,
    Func,
    Var,
    Fwd,
    Datasec,
    DeclTag,
    TypeTag,
}

impl TypeKind {
    /// Returns whether a type is of this kind.
    pub(crate) fn matches(self, kind: Kind) -> bool {
        match self {
            Self::Int => kind == Kind::Int,
            Self::Float => kind == Kind::Float,
            Self::Struct => kind == Kind::Struct,
            Self::Union => kind == Kind::Union,
            Self::Enum => kind.is_enum(),
            Self::Typedef => kind == Kind::Typedef,
            Self::Func => kind == Kind::Func,
            Self::Var => kind == Kind::Var,
            Self::Fwd => kind == Kind::Fwd,
            Self::Datasec => kind == Kind::Datasec,
            Self::DeclTag => kind == Kind::DeclTag,
            Self::TypeTag => kind == Kind::TypeTag,
        }
    }
}
