//! Attach points on the command line: `dev:eth0`, `cgroup:/sys/fs/cgroup/mine,egress`, `kprobe:vfs_read`.
//!
//! | file | contents |
//! |---|---|
//! | `parse` | the text of an attach point |
//! | `attach_type` | the words for attach types, and the attach types that fit a program type and a kind of attach point |
//! | `fit` | the kinds that fit a program, and the hook that a program gets |
//! | `link` | attachments by links |
//! | `lasting` | attachments without a link, which last when the command ends, and their removal |
//! | `route` | routes with programs |
//! | `occupants` | the programs that are attached at a place already, in errors |

mod attach_type;
mod fit;
mod lasting;
mod link;
mod occupants;
mod parse;
mod route;
#[cfg(test)]
mod tests;

#[cfg(feature = "completions")]
pub(crate) use fit::all_kinds;
pub(crate) use fit::place_for;
pub(crate) use lasting::{CgroupSharing, LastingAttachment};
pub(crate) use link::attach;
pub(crate) use occupants::explain_refusal;

use core_relo_loader::{
    attach::{AttachError, NetfilterHook, PacketDirection, TcAttachPoint, UsdtManager, XdpMode},
    object::{AttachType, ProgramType},
};
use route::Route;
use std::{
    fmt,
    os::fd::{BorrowedFd, OwnedFd},
    path::PathBuf,
};

/// An attach point that the user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttachPoint {
    /// The user's text.
    text: String,
    site: Site,
}

/// The kinds of attach points.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Site {
    /// A network interface. Without a hook, the program's type and attach type name the hook.
    Interface { name: String, hook: Option<InterfaceHook> },
    /// The directory of a cgroup.
    Cgroup { path: PathBuf, attach_type: Option<AttachType> },
    /// The file of a network namespace.
    Netns(PathBuf),
    /// A map: a sockmap, or the map that an iterator visits.
    Map { map: String, attach_type: Option<AttachType> },
    /// An infrared receiver.
    Lirc(PathBuf),
    /// A netfilter hook.
    Netfilter(NetfilterHook),
    /// A process.
    Process(u32),
    /// A processor, or all of them.
    Cpu(Option<u32>),
    /// A route.
    Route(Route),
    /// An attach point in the notation of section names: `kprobe/vfs_read`.
    Section(String),
}

/// The hook of a network interface that runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InterfaceHook {
    Xdp(XdpMode),
    /// A classifier in a direction: by tcx or, in an adaptive load on a kernel without tcx, by traffic control, unless the program's
    /// section names tcx.
    Direction(PacketDirection),
    /// A classifier by link: `TcxIngress`, `TcxEgress`, `NetkitPrimary` or `NetkitPeer`.
    Classifier(AttachType),
    /// A classifier of traffic control, through netlink.
    Tc(TcAttachPoint),
}

impl AttachPoint {
    /// Returns whether a program gets a link for each processor.
    pub(crate) fn has_several_links(&self) -> bool {
        self.site == Site::Cpu(None)
    }
}

impl fmt::Display for AttachPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A loaded program that is attached.
#[derive(Clone, Copy)]
pub(crate) struct AttachedProgram<'a> {
    pub(crate) fd: BorrowedFd<'a>,
    pub(crate) name: &'a str,
    /// The section; empty for a program that another process loaded.
    pub(crate) section: &'a str,
    pub(crate) program_type: ProgramType,
    /// The attach type of the program, if it is known.
    pub(crate) attach_type: Option<AttachType>,
    /// The state that the USDT programs of an object share.
    pub(crate) usdt: Option<&'a UsdtManager>,
    /// Whether the program is part of an adaptive load, see [`Self::may_use_traffic_control`].
    pub(crate) is_adaptive: bool,
    /// Opens a map by the name that the attach point contains.
    pub(crate) open_map: &'a dyn Fn(&str) -> Result<OwnedFd, AttachError>,
}

impl AttachedProgram<'_> {
    /// Returns whether a classifier of a direction may use traffic control where the kernel has no tcx: in an adaptive load, unless
    /// its section names tcx, as `tcx/ingress` does.
    fn may_use_traffic_control(&self) -> bool {
        let names_tcx = matches!(self.attach_type, Some(AttachType::TcxIngress | AttachType::TcxEgress));
        self.is_adaptive && !names_tcx
    }
}
