//! Prints each process that starts or exits, from an asynchronous task, until Ctrl-C.

use core_relo_loader::skeleton::CText;
use std::{error::Error, time::Duration};
use tokio::{
    io::{Interest, unix::AsyncFd},
    signal, time,
};

core_relo_loader::include_skeleton!("agent");

use agent::{Agent, Event};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = Agent::open()?.load()?;
    let _links = agent.attach()?;
    let reader = agent.maps.events.reader(print)?;
    // SAFETY: the reader owns its descriptor, which stays open and the same until the reader is dropped.
    let mut events = unsafe { AsyncFd::register_with_interest(reader, Interest::READABLE) }?;
    let mut seconds = time::interval(Duration::from_secs(10));
    loop {
        tokio::select! {
            guard = events.readable_mut() => {
                let mut guard = guard?;
                // Reads all events without waiting. The next wait ends when there are new ones.
                guard.get_inner_mut().consume()?;
                guard.clear_ready();
            }
            _ = seconds.tick() => eprintln!("{} events were dropped", agent.globals.dropped.get()?),
            _ = signal::ctrl_c() => return Ok(()),
        }
    }
}

fn print(event: Event) {
    let what = if event.has_exited == 0 { "start" } else { "exit" };
    println!("{what:5} {:8} of {:8} {}", event.pid, event.parent, CText(&event.name));
}
