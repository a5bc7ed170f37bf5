//! One life of the agent: from the load to the removal of its pins.

use crate::{
    events::{self, Counts},
    source::Source,
};
use core_relo_loader::{
    Loader,
    attach::Link,
    load::{Loaded, Pins, RunningKernel},
    object::Object,
};
use core_relo_tests::artifacts;
use std::{error::Error, fs, path::Path, time::Duration};

/// The size of a ring buffer.
const RING_BYTES: u32 = 1 << 20;

/// The agent: an object that sends events, and one that is attached to each system call.
pub struct Agent {
    pub sender: Loaded,
    /// The object that is attached.
    pub attached: Loaded,
    pub links: Vec<Link>,
    source: Source,
    pins: [Pins; 2],
}

impl Agent {
    /// Loads and attaches the objects, and pins them in a directory.
    pub fn start(source: Source, dir: &Path) -> Result<Self, Box<dyn Error>> {
        let sender = load(source.object_name(), |loader| {
            if source != Source::PerfBuffer {
                let map = loader.map_mut(events::MAP);
                (map.max_entries, map.map_flags) = (Some(RING_BYTES), Some(source.map_flags()));
            }
            Ok(())
        })?;
        let process = std::process::id();
        let attached = load("raw_tp.bpf.o", |loader| {
            loader.set_global("only_pid", &process)?;
            Ok(())
        })?;
        let mut links = attached.attach_all()?;
        let sender_pins = sender.pin_all(&RunningKernel, dir, &mut [])?;
        let attached_pins = attached.pin_all(&RunningKernel, &dir.join("attached"), &mut links)?;
        Ok(Self { sender, attached, links, source, pins: [sender_pins, attached_pins] })
    }

    /// Reads events while a thread sends as many as it can. Checks that each event was read or counted as
    /// lost.
    pub fn read_for(&mut self, duration: Duration) -> Result<Counts, Box<dyn Error>> {
        let counts = events::read_for(&self.sender, self.source, duration)?;
        if self.attached.global::<u64>("hits")? == 0 {
            return Err("the attached program did not run".into());
        }
        Ok(counts)
    }

    /// Removes the pins, detaches and unloads.
    pub fn stop(mut self) -> Result<(), Box<dyn Error>> {
        let [sender, attached] = self.pins;
        attached.remove(&mut self.links);
        sender.remove(&mut []);
        self.links.into_iter().try_for_each(Link::detach)?;
        Ok(())
    }
}

/// Loads a committed object, with changes to its settings.
fn load(
    name: &str,
    change: impl FnOnce(&mut Loader<'_, '_>) -> Result<(), Box<dyn Error>>,
) -> Result<Loaded, Box<dyn Error>> {
    let path = artifacts::root().join("bpf-progs/prebuilt/el/live").join(name);
    let bytes = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let object = Object::parse(&bytes)?;
    let mut loader = Loader::new(&object).name("soak");
    change(&mut loader)?;
    Ok(loader.load()?)
}
