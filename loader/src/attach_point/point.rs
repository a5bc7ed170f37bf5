//! [`AttachPoint`]: attach points as text, such as `dev:eth0`, `cgroup:/sys/fs/cgroup/mine,egress` and
//! `kprobe:vfs_read`.

use super::{interface_hook::InterfaceHook, route::RoutePoint};
use crate::attach::NetfilterHook;
use core::fmt;
use core_relo_object::object::AttachType;
use std::path::PathBuf;

/// The place that a program is attached to, in the notation `KIND:PLACE`, and for some kinds a comma and the
/// hook or attach type.
///
/// ```
/// use core_relo_loader::{attach_point::AttachPoint, object::ProgramType};
///
/// # fn main() -> Result<(), core_relo_loader::attach_point::AttachPointError> {
/// let point: AttachPoint = "dev:eth0,ingress".parse()?;
/// point.check_fits(ProgramType::SchedCls, None)?;
/// assert!(point.check_fits(ProgramType::Xdp, None).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachPoint {
    /// The text as it was parsed.
    pub(super) text: String,
    pub(super) site: AttachSite,
}

/// The place of an [`AttachPoint`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers that detach programs handle each of them")]
pub enum AttachSite {
    /// A network interface.
    Interface {
        /// The name of the interface.
        name: String,
        /// The hook. `None` if the program's type and attach type name the hook.
        hook: Option<InterfaceHook>,
    },
    /// A cgroup.
    Cgroup {
        /// The directory of the cgroup.
        path: PathBuf,
        /// The attach type, if the text names one.
        attach_type: Option<AttachType>,
    },
    /// The file of a network namespace.
    Netns(PathBuf),
    /// A map: a sockmap, or the map that an iterator visits.
    Map {
        /// The id, name or pin of the map.
        map: String,
        /// The attach type, if the text names one.
        attach_type: Option<AttachType>,
    },
    /// An infrared receiver.
    Lirc(PathBuf),
    /// A netfilter hook.
    Netfilter(NetfilterHook),
    /// A process.
    Process(u32),
    /// A processor, or all of them.
    Cpu(Option<u32>),
    /// A route.
    Route(RoutePoint),
    /// An attach point in the notation of section names: `kprobe/vfs_read`.
    Section(String),
}

impl AttachPoint {
    /// Returns the place.
    pub fn site(&self) -> &AttachSite {
        &self.site
    }

    /// Returns whether a program gets a link for each processor.
    pub fn has_several_links(&self) -> bool {
        self.site == AttachSite::Cpu(None)
    }
}

impl fmt::Display for AttachPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
