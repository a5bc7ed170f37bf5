//! Attaching programs, each family in its own file. What comes of it is a [`Link`], which detaches when it is dropped.
//!
//! A family's functions take a program's descriptor and what it is to be attached to.

mod by_program;
mod cgroup;
mod error;
mod link;
mod lirc;
mod netfilter;
mod netlink;
mod netns;
mod order;
mod query;
mod route;
mod sockmap;
mod struct_ops;
mod tc;
mod tcx;
#[cfg(test)]
mod testing;
mod xdp;

pub use cgroup::{CgroupOptions, CgroupSharing, cgroup, cgroup_attach};
pub use error::{AttachError, Hint};
pub use link::{Attachment, Link};
pub use lirc::lirc;
pub use netfilter::{NetfilterHook, netfilter};
pub use netns::netns;
pub use order::{Neighbour, Order, Placement};
pub use query::{Attached, OnInterface, Target, query, query_interface};
pub use route::interface;
pub use sockmap::{sockmap, sockmap_attach};
pub use struct_ops::{struct_ops, struct_ops_update};
pub use tc::{TcFilter, TcHook, TcOptions, TcPoint};
pub use tcx::{netkit, tcx};
pub use xdp::{Xdp, XdpMode, XdpOver, xdp, xdp_detach, xdp_netlink, xdp_query};
