//! The programs, maps, links and BTFs in the running kernel: by id, by name, by tag, by pin, with the
//! processes and pins that hold them.
//!
//! An object is a descriptor. [`ObjectKind`] and [`KernelObject`] open it, and the info types read it:
//! [`ProgramInfo`], [`MapInfo`], [`LinkInfo`], [`BtfInfo`]. They take any descriptor of the right kind, so
//! they read the programs and maps of a [`Loaded`](crate::load::Loaded) object too.
//!
//! ```no_run
//! use core_relo_loader::inventory::{self, Holders, ObjectKind, ProgramInfo, ObjectSelection};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let holders = Holders::find();
//! for object in inventory::list(ObjectKind::Program)? {
//!     let id = object.id();
//!     // The program may be gone by now.
//!     let Some(program) = object.open()? else { continue };
//!     let info = ProgramInfo::query(&program)?;
//!     println!("{id}: {}", inventory::full_program_name(&program, &info));
//!     for process in holders.processes(ObjectKind::Program, id) {
//!         println!("    held by {} ({})", process.comm, process.pid);
//!     }
//! }
//! for map in inventory::find(ObjectKind::Map, &ObjectSelection::Name("events".into()))? {
//!     println!("map {}", map.id());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Without the feature `inventory`, only the info types, runs of programs and changes of links remain.
//!
//! | to | use |
//! |---|---|
//! | run a program once | [`test_run`], [`LoadedProgram::test_run`](crate::load::LoadedProgram::test_run) |
//! | read or write the elements of a map by the bytes of their keys | [`MapShape`](crate::maps::MapShape) |
//! | pin, open a pin, remove a pin | [`pin`], [`open_pin`], [`unpin`] |
//! | replace the program of a link, detach a link | [`update_link`], [`detach_link`] |
//! | read the instructions of a program, as the verifier rewrote them or as machine code | [`translated_code`], [`Annotator`], [`MachineCode`] |
//! | count the runs of programs | [`enable_run_statistics`], [`ProgramInfo`] |

#[cfg(feature = "inventory")]
mod btf_cache;
#[cfg(feature = "inventory")]
mod error;
#[cfg(feature = "inventory")]
mod fdinfo;
#[cfg(feature = "inventory")]
mod holders;
#[cfg(feature = "inventory")]
mod instructions;
#[cfg(all(feature = "inventory", feature = "netlink"))]
mod link_device;
#[cfg(feature = "inventory")]
mod link_target;
#[cfg(feature = "inventory")]
mod link_target_text;
mod mounts;
#[cfg(feature = "inventory")]
mod names;
#[cfg(feature = "inventory")]
mod object;
#[cfg(feature = "inventory")]
mod pins;
#[cfg(feature = "inventory")]
mod processes;
#[cfg(feature = "inventory")]
mod program_names;
#[cfg(feature = "inventory")]
mod select;
#[cfg(feature = "inventory")]
mod selection;
#[cfg(feature = "inventory")]
mod symbols;
#[cfg(feature = "inventory")]
mod unreadable;

pub use crate::sys::{
    BtfInfo, InfoError, LinkInfo, MachineCode, MapInfo, OBJ_NAME_LEN, ObjectFacts, ObjectKind, ProgramInfo,
    ProgramLines, StreamId, TaskProgram, TestRun, TestRunResult, btf_bytes, btf_name, detach_link,
    enable_run_statistics, link_target_name, pin_in_new_directory, program_map_ids, read_stream, test_run,
    translated_code, update_link,
};
#[cfg(feature = "inventory")]
pub use btf_cache::BtfCache;
#[cfg(feature = "inventory")]
pub use error::InventoryError;
#[cfg(feature = "inventory")]
pub use fdinfo::FdInfo;
#[cfg(feature = "inventory")]
pub use holders::Holders;
#[cfg(feature = "inventory")]
pub use instructions::{Annotator, CallTarget, LoadedMapRef, ProgramInstruction, ProgramSourceLine};
#[cfg(all(feature = "inventory", feature = "netlink"))]
pub use link_device::OwnInterfaces;
#[cfg(feature = "inventory")]
pub use link_target::{FieldValue, LinkDevice, LinkField, LinkTarget};
pub use mounts::{Mount, mounts};
#[cfg(feature = "inventory")]
pub use names::{full_program_name, is_kept_name, main_function, object_name};
#[cfg(feature = "inventory")]
pub use object::{KernelObject, link_infos, list};
#[cfg(feature = "inventory")]
pub use pins::{OpenedPin, open_pin, pin, unpin};
#[cfg(feature = "inventory")]
pub use processes::Process;
#[cfg(feature = "inventory")]
pub use program_names::{ProgramName, ProgramNames};
#[cfg(feature = "inventory")]
pub use select::{find, find_one};
#[cfg(feature = "inventory")]
pub use selection::{ObjectSelection, ProgramTag};
#[cfg(feature = "inventory")]
pub use symbols::KernelSymbols;
