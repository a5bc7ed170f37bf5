//! A small agent with aya: loads an object, attaches its programs and counts the events of one second.

use aya::{Btf, Ebpf, maps::RingBuf, programs::BtfTracePoint};
use std::{error::Error, time::Duration};

static OBJECT: &[u8] = include_bytes!("../../../../bpf-progs/prebuilt/el/demo/exec.bpf.o");

fn main() -> Result<(), Box<dyn Error>> {
    let mut object = Ebpf::load(OBJECT)?;
    let kernel = Btf::from_sys_fs()?;
    for (program, tracepoint) in
        [("handle_exec", "sched_process_exec"), ("handle_exit", "sched_process_exit")]
    {
        let program: &mut BtfTracePoint = object.program_mut(program).ok_or("no such program")?.try_into()?;
        program.load(tracepoint, &kernel)?;
        program.attach()?;
    }
    let mut ring = RingBuf::try_from(object.map_mut("events").ok_or("no map `events`")?)?;
    std::thread::sleep(Duration::from_secs(1));
    let mut count = 0u64;
    while ring.next().is_some() {
        count += 1;
    }
    println!("{count} events");
    Ok(())
}
