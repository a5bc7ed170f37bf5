//! From a BPF object to running programs: relocated (CO-RE), linked, loaded, attached, and their data read.
//!
//! | module | what it does |
//! |---|---|
//! | [`object`] | reads what clang or GCC compiled: programs, maps, externs, relocations; pure |
//! | [`target`] | finds the kernel's types: the running kernel's BTF, modules', a file of BTF, any ELF with `.BTF` |
//! | [`link`] | puts a program together from its functions; pure |
//! | [`load_plan`] | decides all that will be asked of the kernel; pure data, printed as a dry run |
//! | [`load`] | carries a plan out: [`Loaded`](load::Loaded) owns what it made, and lets go of all of it |
//! | [`attach`] | programs to their places, from their sections or by explicit calls; each a [`Link`](attach::Link) |
//! | [`maps`], [`ring`] | typed maps, globals while they are used, ring buffers, perf buffers |
//! | [`features`] | what the running kernel can do, asked when needed and once |
//! | `static_link` | one object of several, as `bpftool gen object`; pure; feature `static-link` |
//! | `sys` | bpf(2) and its relatives, one safe function each; the only unsafe code; feature `sys` |
//!
//! [`Loader`] takes the usual way through them. What becomes of each relocation is decided by `core-relo`, the engine. The
//! [embedding guide](guide) goes on from here: privileges, containers, kernels without BTF, errors, threads, what stays behind.
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
//! Without privileges, for whatever kernel, the same decisions can be had as data:
//!
//! ```
//! use core_relo::{Plan, Target};
//! use core_relo_loader::{object::Object, target::TargetFile};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut types = core_relo::btf::Builder::new(core_relo::Endian::Little);
//! # types.int("long", 8, 1);
//! # let kernel_bytes = types.finish();
//! // Usually `target::kernel()?`, or `TargetFile::open(path)?`.
//! let kernel = TargetFile::from_bytes("vmlinux", kernel_bytes)?;
//! let target = Target::new("vmlinux", Arc::new(kernel.parse(None)?));
//!
//! // Usually `std::fs::read("prog.bpf.o")?`.
//! let bytes = b"\x7fELF, but truncated";
//! match Object::parse(bytes) {
//!     Ok(object) => {
//!         for program in object.programs().iter().filter(|p| !p.is_subprogram) {
//!             println!("{} {:?}", program.name.escape_ascii(), program.sec_def().map(|d| d.program_type));
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
//! | `kconfig-gz` | yes | the running kernel's configuration from `/proc/config.gz`, where `/boot` has none |
//! | `netlink` | yes | programs of network interfaces: XDP, tc, tcx, netkit, lightweight tunnels |
//! | `usdt` | yes | attaching to USDT probes |
//! | `static-link` | no | the module `static_link`: several objects linked into one |
//! | `sys` | no | the module `sys`: raw system calls, without a stable API |
//!
//! # Hostile input
//!
//! Objects and targets come from anywhere. No input makes this crate panic, and none makes it take more memory than a small
//! multiple of the input; the numbers that bound it are in [`limits`]. What the verifier says of a program is not counted: it
//! is kept as it is, of the kernel's making and up to 1 GiB.

extern crate alloc;

mod arch;
pub mod attach;
pub mod features;
mod globals;
#[doc = include_str!("guide.md")]
pub mod guide {}
mod host;
mod kconfig_file;
pub mod limits;
#[cfg(test)]
mod live_test_support;
pub mod load;
mod loader;
pub mod maps;
mod privileges;
pub mod ring;
#[cfg(feature = "sys")]
pub mod sys;
#[cfg(not(feature = "sys"))]
#[expect(dead_code, unused_imports, unreachable_pub, reason = "the module's users turn on the feature `sys`")]
mod sys;
pub mod target;

pub use core_relo_object::globals::{Global, GlobalError, GlobalKind};
#[cfg(feature = "static-link")]
pub use core_relo_object::static_link;
pub use core_relo_object::{
    ExternIndex, InternalError, MapIndex, ModuleIndex, ProgramIndex, SectionIndex, link, load_plan, object,
};
pub use globals::GlobalValue;
pub use host::running_host;
pub use loader::Loader;
#[doc(hidden)]
pub use sys::pod_macro;
pub use sys::{Element, Errno, Pod, Shape};
