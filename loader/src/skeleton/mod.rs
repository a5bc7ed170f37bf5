//! The parts of generated skeletons: typed programs, maps, variables and events of one object.
//!
//! A skeleton is Rust source text that `core-relo gen rust` or the crate `core-relo-build` generates from a
//! BPF object. It contains the object's C types as Rust types, and structs whose fields are the object's
//! programs, maps and variables:
//!
//! ```text
//! include_skeleton!("agent");                      // the module `agent`, which the build script wrote
//!
//! let mut open = agent::Agent::open()?;            // nothing is loaded yet
//! *open.globals.min_duration_ns = 1_000_000;       // a variable's initial value
//! open.programs.on_exit.autoload = Some(false);    // settings of a program or map
//! let agent = open.load()?;
//! let link = agent.programs.on_exec.attach()?;     // or `agent.attach()?`, all of them
//! let mut events = agent.maps.events.reader(|event: agent::Event| println!("{event:?}"))?;
//! events.poll(None)?;
//! println!("{}", agent.globals.dropped.get()?);
//! ```
//!
//! The loaded skeleton has no lifetime parameter and is `Send + Sync`. Its parts share the loaded object: a
//! field of type [`Program`], [`Variable`] or [`RingBufferMap`] can be cloned or moved out and keeps the
//! object loaded.
//!
//! | item | the field of a skeleton |
//! |---|---|
//! | [`InitialValue`] | a variable before the load |
//! | [`Variable`], [`Constant`] | a variable after the load; a constant after the load |
//! | [`Program`] | a program; [`program_ref`](Program::program_ref) has the attach methods |
//! | [`StructOps`] | a struct_ops map; before the load, its table is a struct of the skeleton |
//! | [`RingBufferMap`], [`PerfBufferMap`] | a map of events, decoded to an [`Event`] |
//! | [`ArenaMap`], [`UserRingBufferMap`] | an arena; a ring buffer that user space writes |
//! | handles of [`maps`](crate::maps) | other maps |

mod arena;
pub mod bits;
mod error;
mod events;
mod program;
mod static_object;
mod struct_ops;
mod text;
mod union_member;
mod variable;

pub use arena::{ArenaMap, UserRingBufferMap};
pub use error::SkeletonError;
pub use events::{Event, EventError, EventReader, PerfBufferMap, PerfEventReader, RingBufferMap};
pub use program::{InSection, NoTarget, Program};
pub use static_object::StaticObject;
pub use struct_ops::StructOps;
pub use text::CText;
pub use union_member::{read_member, write_member};
pub use variable::{Constant, InitialValue, Variable};

/// Includes a skeleton that the build script generated: the module of the skeleton's name.
///
/// ```text
/// core_relo_loader::include_skeleton!("agent"); // from `$OUT_DIR/agent.skel.rs`
/// ```
#[macro_export]
macro_rules! include_skeleton {
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".skel.rs"));
    };
}
