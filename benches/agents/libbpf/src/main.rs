//! A small agent with libbpf-rs: loads an object, attaches its programs and counts the events of one second.

use libbpf_rs::{MapCore as _, ObjectBuilder, RingBufferBuilder};
use std::{cell::Cell, error::Error, time::Duration};

static OBJECT: &[u8] = include_bytes!("../../../../bpf-progs/prebuilt/el/demo/exec.bpf.o");

fn main() -> Result<(), Box<dyn Error>> {
    let object = ObjectBuilder::default().open_memory(OBJECT)?.load()?;
    let _links = object.progs_mut().map(|program| program.attach()).collect::<Result<Vec<_>, _>>()?;
    let events = object.maps().find(|map| map.name() == "events").ok_or("no map `events`")?;
    let count = Cell::new(0u64);
    let mut ring = RingBufferBuilder::new();
    ring.add(&events, |_event| {
        count.set(count.get() + 1);
        0
    })?;
    let ring = ring.build()?;
    std::thread::sleep(Duration::from_secs(1));
    ring.poll(Duration::from_secs(1))?;
    println!("{} events", count.get());
    Ok(())
}
