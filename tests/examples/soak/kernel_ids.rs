//! The ids of kernel objects that the agent created. Objects of other processes do not count.

use crate::agent::Agent;
use core_relo_loader::{
    Errno,
    inventory::{BtfInfo, LinkInfo, MapInfo, ObjectKind, ProgramInfo},
};
use std::{error::Error, thread::sleep, time::Duration};

/// `ENOENT`.
const GONE: Errno = Errno(2);
/// The time that the kernel has to free objects. It frees them after a grace period of RCU.
const FREEING: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(10);

/// The objects that may still exist, and the number of all.
#[derive(Default)]
pub struct KernelIds {
    alive: Vec<(ObjectKind, u32)>,
    count: usize,
}

impl KernelIds {
    /// Adds the programs, maps, links and BTF of an agent.
    pub fn add(&mut self, agent: &Agent) -> Result<(), Errno> {
        let before = self.alive.len();
        for loaded in [&agent.sender, &agent.attached] {
            for program in loaded.programs() {
                self.alive.push((ObjectKind::Program, ProgramInfo::query(program)?.id));
            }
            for map in loaded.maps().iter().filter_map(|map| map.fd()) {
                self.alive.push((ObjectKind::Map, MapInfo::query(&map)?.id));
            }
            if let Some(btf) = loaded.btf() {
                self.alive.push((ObjectKind::Btf, BtfInfo::query(&btf)?.id));
            }
        }
        for link in agent.links.iter().filter_map(|link| link.fd()) {
            self.alive.push((ObjectKind::Link, LinkInfo::query(&link)?.id));
        }
        self.count += self.alive.len() - before;
        Ok(())
    }

    /// Waits until the kernel has freed all objects.
    pub fn wait_until_gone(&mut self) -> Result<(), Box<dyn Error>> {
        for _ in 0..FREEING.as_millis() / INTERVAL.as_millis() {
            self.alive.retain(|(kind, id)| kind.open(*id).err() != Some(GONE));
            if self.alive.is_empty() {
                return Ok(());
            }
            sleep(INTERVAL);
        }
        let stay: Vec<_> = self.alive.iter().map(|(kind, id)| format!("{kind} {id}")).collect();
        Err(format!("not freed after {FREEING:?}: {}", stay.join(", ")).into())
    }

    pub fn count(&self) -> usize {
        self.count
    }
}
