//! The attach methods of [`ProgramRef`](super::ProgramRef).
//!
//! | file | targets |
//! |---|---|
//! | `probes` | kernel functions, system calls, locations in binaries, USDT probes |
//! | `tracing` | the target of the section or of the load, tracepoints, perf events, iterators |
//! | `network` | cgroups, network namespaces, sockmaps, netfilter hooks, infrared receivers |
//! | `interface` | network interfaces, segment routes |

#[cfg(feature = "netlink")]
mod interface;
mod network;
mod probes;
mod tracing;
