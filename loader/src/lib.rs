//! Relocates (CO-RE), links, loads and attaches BPF objects, and reads the data of their programs.
//!
//! | module | contents |
//! |---|---|
//! | [`object`] | the parser of BPF objects from clang or GCC: programs, maps, externs, relocations; no system calls |
//! | [`target`] | the kernel's types: BTF of the running kernel and its modules, BTF files, any ELF file with `.BTF` |
//! | [`link`] | the linker that builds one program from its functions; no system calls |
//! | [`load_plan`] | the plan of a load: every request to the kernel, as data that prints as a dry run; no system calls |
//! | [`load`] | the execution of a plan; [`Loaded`](load::Loaded) owns the loaded object |
//! | [`attach`] | attaching programs, by their sections or by explicit calls, as a [`Link`](attach::Link) |
//! | `attach_point` | attach points as text, attachments that last when the process ends, and what is attached there; feature `attach-points` |
//! | [`maps`], [`ring`] | typed maps, global variables of loaded programs, ring buffers, perf buffers |
//! | [`skeleton`] | the parts of skeletons, which `core-relo-build` generates: typed programs, variables, maps and events |
//! | [`inventory`] | the programs, maps, links and BTFs in the kernel: by id, name, tag or pin, with their holders; most of it needs the feature `inventory` |
//! | [`features`] | kernel features, probed on first use |
//! | [`privileges`] | the capabilities of this process for BPF |
//! | `static_link` | the static linker, as `bpftool gen object`; no system calls; feature `static-link` |
//!
//! [`Loader`] combines these modules for the usual case. The engine, `core-relo`, resolves each relocation.
//! The [embedding guide](guide) covers privileges, containers, kernels without BTF, errors, threads and
//! cleanup.
//!
//! ```no_run
//! use core_relo_loader::{Loader, object::Object};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bytes = std::fs::read("exec.bpf.o")?;
//! let object = Object::parse(&bytes)?;
//! let mut loader = Loader::new(&object).name("exec");
//! loader.set_global("target_pid", &std::process::id())?;
//! let loaded = loader.load()?;
//! let _links = loaded.attach_all()?;
//! let mut events = loaded.ring_buffer("events", |event| println!("{} bytes", event.len()))?;
//! loop {
//!     events.poll(None)?;
//! }
//! # }
//! ```
//!
//! Relocations can be planned for any kernel, without privileges:
//!
//! ```
//! use core_relo::{Plan, Target};
//! use core_relo_loader::{object::Object, target::BtfFile};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut types = core_relo::btf::Builder::new(core_relo::Endian::Little);
//! # types.int("long", 8, 1);
//! # let kernel_bytes = types.finish();
//! // Usually `target::kernel()?`, or `BtfFile::open(path)?`.
//! let kernel = BtfFile::from_bytes("vmlinux", kernel_bytes)?;
//! let target = Target::new("vmlinux", Arc::new(kernel.parse(None)?));
//!
//! // Usually `std::fs::read("prog.bpf.o")?`.
//! let bytes = b"\x7fELF, but truncated";
//! match Object::parse(bytes) {
//!     Ok(object) => {
//!         for program in object.programs().iter().filter(|p| !p.is_subprogram) {
//!             println!("{} {:?}", program.name().escape_ascii(), program.sec_def().map(|d| d.program_type));
//!         }
//!         let relocs = object.relocs()?;
//!         let plan = Plan::new(&relocs, &target);
//!         println!("{} relocations", plan.iter().len());
//!     }
//!     Err(error) => println!("no BPF object: {error}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `attach-points` | no | attach points as text (`dev:eth0`), and attachments that last |
//! | `btf-archive` | no | archives of minimal BTF, for running kernels without BTF |
//! | `events` | no | the module `events`: types of the records of ring buffers and perf event arrays |
//! | `inspection` | no | the modules `disassembly` and `btf_ids`: the instructions of an object with names, and `.BTF_ids` of kernels |
//! | `inventory` | no | all of the module `inventory`: the objects in the kernel by id, name, tag or pin, with their holders |
//! | `kconfig-gz` | no | the running kernel's configuration from `/proc/config.gz`, where `/boot` has none |
//! | `loader-program` | no | the module `loader_program`: loader programs (light skeletons), and their execution |
//! | `netlink` | yes | programs of network interfaces: XDP, tc, tcx, netkit, lightweight tunnels |
//! | `serde` | no | the verifier's report and capabilities as JSON: `serde::Serialize`, of the report also `serde::Deserialize` |
//! | `uprobe` | no | attaching to functions of user-space binaries |
//! | `usdt` | no | attaching to USDT probes; includes `uprobe` |
//! | `static-link` | no | the module `static_link`: several objects linked into one |
//! | `stripped-binaries` | no | uprobes on functions of stripped binaries: debug files, mini debug info, Go's function table |
//! | `standard-streams` | no | the module `standard_streams`: whether the process started with closed standard streams |
//!
//! # Hostile input
//!
//! Objects and targets may be hostile. No input makes this crate panic, and memory use stays below a small
//! multiple of the input. The bounds are in [`limits`]. The verifier's log is an exception: the crate keeps
//! the whole log, up to 1 GiB.

extern crate alloc;

mod arch;
pub mod attach;
#[cfg(feature = "attach-points")]
pub mod attach_point;
mod convert;
pub mod features;
mod globals;
#[doc = include_str!("guide.md")]
pub mod guide {}
mod hint;
pub mod inventory;
mod kconfig_file;
mod kernel_handle;
mod kernel_version;
pub mod limits;
#[cfg(test)]
mod live_test_support;
pub mod load;
mod loader;
mod lockdown;
pub mod maps;
mod memory_limit;
mod memory_nodes;
mod owner_process;
pub mod privileges;
mod program_btf;
pub mod ring;
mod running_kernel;
pub mod skeleton;
mod sys;
pub mod target;
mod token_scope;

/// The Rust examples of the project's README. Packages do not contain that file, and nothing but the doctests
/// reads it.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

#[cfg(feature = "events")]
pub use core_relo_object::events;
pub use core_relo_object::globals::{Global, GlobalError, GlobalKind};
#[cfg(feature = "loader-program")]
pub use core_relo_object::loader_program;
#[cfg(feature = "static-link")]
pub use core_relo_object::static_link;
pub use core_relo_object::{
    ExternIndex, InternalError, MapIndex, ModuleIndex, ProgramIndex, SectionIndex, link, load_plan,
    map_flags, object,
};
#[cfg(feature = "inspection")]
pub use core_relo_object::{btf_ids, disassembly};
pub use globals::GlobalValue;
pub use hint::Hint;
pub use loader::Loader;
pub use memory_limit::memory_shortage;
pub use running_kernel::running_kernel;
#[doc(hidden)]
pub use sys::pod_macro;
#[cfg(feature = "standard-streams")]
pub use sys::standard_streams;
pub use sys::{Bool, Element, Errno, MemberShape, Pod, Shape};
