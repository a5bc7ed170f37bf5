//! Prints each process that starts or exits, until Ctrl-C.

use core_relo_loader::skeleton::CText;
use std::{error::Error, process::ExitCode};

core_relo_loader::include_skeleton!("agent");

use agent::{Agent, Event};

fn main() -> ExitCode {
    // The message of an error names the cause and often the way out.
    if let Err(error) = run() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut open = Agent::open()?;
    if let Some(uid) = std::env::args().nth(1) {
        open.globals.only_uid.set(uid.parse::<u32>()?);
    }
    let agent = open.load()?;
    let _links = agent.attach()?; // dropping a link detaches its program

    let mut events = agent.maps.events.reader(print)?;
    loop {
        events.poll(None)?;
        let dropped = agent.globals.dropped.get()?;
        if dropped > 0 {
            eprintln!("{dropped} events were dropped");
            agent.globals.dropped.set(0u64)?;
        }
    }
}

fn print(event: Event) {
    let Event { pid, parent, exit_code, .. } = event;
    let name = CText(&event.name);
    if event.has_exited == 0 {
        println!("start {pid:8} of {parent:8} {name}");
    } else {
        println!("exit  {pid:8} of {parent:8} {name} code {} signal {}", exit_code >> 8, exit_code & 0x7f);
    }
}
