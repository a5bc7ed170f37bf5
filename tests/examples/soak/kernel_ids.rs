//! The ids of kernel objects that the agent created. Objects of other processes do not count.

use crate::agent::Agent;
use core_relo_loader::sys::{self, Errno};
use std::{error::Error, os::fd::OwnedFd, thread::sleep, time::Duration};

/// `ENOENT`.
const GONE: Errno = Errno(2);
/// The time that the kernel has to free objects. It frees them after a grace period of RCU.
const FREEING: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(10);

type Open = fn(u32) -> Result<OwnedFd, Errno>;

/// The objects that may still exist, and the number of all.
#[derive(Default)]
pub struct KernelIds {
    alive: Vec<(&'static str, Open, u32)>,
    count: usize,
}

impl KernelIds {
    /// Adds the programs, maps, links and BTF of an agent.
    pub fn add(&mut self, agent: &Agent) -> Result<(), Errno> {
        let before = self.alive.len();
        for loaded in [&agent.sender, &agent.attached] {
            for program in loaded.programs() {
                self.alive.push(("program", sys::prog_fd_by_id, sys::prog_info(program)?.id));
            }
            for map in loaded.maps().iter().filter_map(|map| map.fd()) {
                self.alive.push(("map", sys::map_fd_by_id, sys::map_info(&map)?.id));
            }
            if let Some(btf) = loaded.btf() {
                self.alive.push(("BTF", sys::btf_fd_by_id, sys::btf_info(&btf)?.id));
            }
        }
        for link in agent.links.iter().filter_map(|link| link.fd()) {
            self.alive.push(("link", sys::link_fd_by_id, sys::link_info(&link)?.id));
        }
        self.count += self.alive.len() - before;
        Ok(())
    }

    /// Waits until the kernel has freed all objects.
    pub fn wait_until_gone(&mut self) -> Result<(), Box<dyn Error>> {
        for _ in 0..FREEING.as_millis() / INTERVAL.as_millis() {
            self.alive.retain(|(_, open, id)| open(*id).err() != Some(GONE));
            if self.alive.is_empty() {
                return Ok(());
            }
            sleep(INTERVAL);
        }
        let stay: Vec<_> = self.alive.iter().map(|(kind, _, id)| format!("{kind} {id}")).collect();
        Err(format!("not freed after {FREEING:?}: {}", stay.join(", ")).into())
    }

    pub fn count(&self) -> usize {
        self.count
    }
}
