//! [Attach points](AttachPoint) as text (`dev:eth0`), and programs at attach points: attached by links, or
//! without a link, which lasts when the process ends; and what is attached there already.
//!
//! ```no_run
//! use core_relo_loader::{
//!     attach::{AttachError, ProgramRef},
//!     attach_point::{LastingError, LastingOptions, PointProgram},
//! };
//!
//! # fn example(program: ProgramRef<'_>) -> Result<(), Box<dyn std::error::Error>> {
//! let point = "dev:eth0".parse()?;
//! let open_map = &|map: &str| Err(AttachError::target(map, "no such map"));
//! let attached = PointProgram { program, point: &point, open_map, may_use_traffic_control: false };
//! if let Err(LastingError::Occupied { prog_id }) = attached.attach_without_link(LastingOptions::default()) {
//!     println!("program {prog_id} is attached there: {:?}", attached.occupants());
//! }
//! attached.detach()?;
//! # Ok(())
//! # }
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `point`, `parse`, `point_error` | attach points, and their text |
//! | `kinds` | the kinds of attach points, and the program types that fit them |
//! | `attach_type` | the words for attach types, and the attach types that fit a program type and a kind |
//! | `fit` | the hook and the attach type that a program gets at an attach point |
//! | `open` | attach targets that are files |
//! | `route` | routes with programs |
//! | `link` | attaching by links |
//! | `lasting`, `detach` | attaching without a link, and detaching |
//! | `error` | the reasons why a program is not attached without a link, or not detached |
//! | `occupants` | the programs that are attached at the place already |

mod attach_type;
mod detach;
mod error;
mod fit;
mod interface_hook;
mod kinds;
mod lasting;
mod link;
mod occupants;
mod open;
mod parse;
mod point;
mod point_error;
mod route;
#[cfg(test)]
mod tests;

pub use attach_type::{
    attach_type_word, attach_types_of, cgroup_attach_types, netns_attach_type, sockmap_attach_types,
};
pub use error::LastingError;
pub use interface_hook::InterfaceHook;
pub use kinds::{attach_point_kinds, fitting_kinds, interface_hook_word, is_section_kind};
pub use lasting::LastingOptions;
pub use occupants::{HeldBy, Occupant, XdpHolder};
pub use point::{AttachPoint, AttachSite};
pub use point_error::{AttachPointError, PlaceProblem};
pub use route::RoutePoint;

use crate::attach::{AttachError, ProgAttach, ProgramRef};
use crate::sys::ProgramInfo;
use core_relo_object::object::AttachType;
use std::os::fd::OwnedFd;

/// A program in the kernel, and an attach point for the program.
#[derive(Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct PointProgram<'a> {
    /// The program. Its attach type is that of its section, if the section is known.
    pub program: ProgramRef<'a>,
    /// The attach point.
    pub point: &'a AttachPoint,
    /// Opens a map by the name that the attach point contains.
    pub open_map: &'a dyn Fn(&str) -> Result<OwnedFd, AttachError>,
    /// Whether a classifier of a direction that is attached by a link may use traffic control where the
    /// kernel has no tcx.
    pub may_use_traffic_control: bool,
}

impl core::fmt::Debug for PointProgram<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PointProgram")
            .field("program", &self.program)
            .field("point", self.point)
            .finish_non_exhaustive()
    }
}

impl<'a> PointProgram<'a> {
    fn id(&self) -> Result<u32, AttachError> {
        let info = ProgramInfo::query(&self.program.fd);
        info.map(|info| info.id).map_err(|e| AttachError::kernel(&self.point.to_string(), "attach", e))
    }

    /// Returns the request to attach or detach the program.
    fn request(&self, attach_type: AttachType) -> ProgAttach<'a> {
        ProgAttach { prog: Some(self.program.fd), attach_type: attach_type.number(), ..ProgAttach::default() }
    }

    fn interface_hook(&self) -> Result<InterfaceHook, LastingError> {
        let hook = self.point.interface_hook(self.program.program_type, self.program.attach_type)?;
        hook.ok_or_else(|| self.bad("the attach point is no network interface"))
    }

    fn cgroup_attach_type(&self, given: Option<AttachType>) -> Result<AttachType, AttachPointError> {
        self.point.cgroup_attach_type(self.program.program_type, given.or(self.program.attach_type))
    }

    fn map_attach_type(&self, given: Option<AttachType>) -> Result<AttachType, AttachPointError> {
        self.point.map_attach_type(self.program.program_type, given.or(self.program.attach_type))
    }

    fn netns_attach_type(&self) -> AttachType {
        netns_attach_type(self.program.program_type)
    }

    fn bad(&self, problem: impl Into<core_relo::Text>) -> LastingError {
        AttachError::target(self.point.to_string(), problem).into()
    }
}
