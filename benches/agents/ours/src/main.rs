//! A small agent with core-relo: loads an object, attaches its programs and counts the events of one second.

use core_relo_loader::{Loader, object::Object};
use std::{error::Error, time::Duration};

static OBJECT: &[u8] = include_bytes!("../../../../bpf-progs/prebuilt/el/demo/exec.bpf.o");

fn main() -> Result<(), Box<dyn Error>> {
    let object = Object::parse(OBJECT)?;
    let loaded = Loader::new(&object).load()?;
    let _links = loaded.attach_all()?;
    let mut count = 0u64;
    let mut events = loaded.ring_buffer("events", |_event| count += 1)?;
    std::thread::sleep(Duration::from_secs(1));
    events.poll(Some(Duration::from_secs(1)))?;
    drop(events);
    println!("{count} events");
    Ok(())
}
