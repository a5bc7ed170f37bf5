//! Counts the received frames of an interface by protocol. The program creates two network namespaces with a
//! veth pair, sends a few packets and prints the counts. The namespaces are removed when the program ends.
//! Needs root.
//!
//! ```text
//! cargo run --example xdp_counter -- [--packets N] [--generic]
//! ```

mod network;

use core::error::Error;
use core_relo_loader::attach::XdpMode;
use network::VethPair;
use std::{
    env,
    io::{self, Read as _, Write},
    net::{TcpListener, TcpStream, UdpSocket},
};
use xdp_counter::XdpCounter;

// The module `xdp_counter`: the BPF object, which is part of the executable, and its types.
include!("skeletons/xdp_counter.skel.rs");

/// Names of common entries of `counts`: IP protocols, and two entries after them.
const NAMES: [(u32, &str); 7] =
    [(0, "options"), (1, "ICMP"), (6, "TCP"), (17, "UDP"), (58, "ICMPv6"), (256, "ARP"), (257, "other")];

fn main() -> Result<(), Box<dyn Error>> {
    run(env::args().skip(1), &mut io::stdout())
}

/// Runs the counter with the given arguments and output.
pub(crate) fn run(
    mut words: impl Iterator<Item = String>,
    out: &mut (dyn Write + Send),
) -> Result<(), Box<dyn Error>> {
    let (mut packets, mut mode) = (10u16, XdpMode::Any);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--packets" => packets = words.next().ok_or("--packets needs a number")?.parse()?,
            "--generic" => mode = XdpMode::Generic,
            _ => return Err(format!("unknown argument `{word}`").into()),
        }
    }
    let pair = VethPair::new()?;
    let counter = XdpCounter::open()?.load()?;
    // The interface index refers to the namespace of the thread.
    let link = pair.far(|| counter.programs.count.program_ref()?.attach_xdp(pair.far_index, mode))??;
    send_packets(&pair, packets)?;
    link.detach()?;

    writeln!(out, "{:10} {:>8} {:>10}", "PROTOCOL", "FRAMES", "BYTES")?;
    for entry in counter.maps.counts.iter() {
        let (protocol, on_each_cpu) = entry?;
        let frames: u64 = on_each_cpu.iter().map(|count| count.frames).sum();
        let bytes: u64 = on_each_cpu.iter().map(|count| count.bytes).sum();
        if frames > 0 {
            let listed = NAMES.iter().find(|(number, _)| *number == protocol);
            let name = listed.map_or_else(|| format!("IP {protocol}"), |(_, name)| (*name).to_owned());
            writeln!(out, "{name:10} {frames:8} {bytes:10}")?;
        }
    }
    Ok(())
}

/// Sends datagrams from the near end to the far end, and as many messages over a TCP connection.
fn send_packets(pair: &VethPair, packets: u16) -> Result<(), Box<dyn Error>> {
    let listener = pair.far(|| TcpListener::bind((VethPair::FAR, 7)))??;
    // A socket stays in the namespace in which it was created.
    let mut connected = pair.near(|| TcpStream::connect((VethPair::FAR, 7)))??;
    let (mut accepted, _) = listener.accept()?;
    let to = pair.far(|| UdpSocket::bind((VethPair::FAR, 7)))??;
    let from = pair.near(|| UdpSocket::bind((VethPair::NEAR, 0)))??;
    let mut received = [0; 4];
    for _ in 0..packets {
        from.send_to(b"ping", to.local_addr()?)?;
        to.recv(&mut received)?;
        connected.write_all(b"ping")?;
        accepted.read_exact(&mut received)?;
    }
    Ok(())
}
