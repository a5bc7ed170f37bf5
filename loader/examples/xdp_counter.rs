//! Counts the frames that come to an interface, by protocol. It makes two network namespaces and a cable between them, sends itself a
//! few packets and prints what was counted; all of it goes when it ends. Needs root.
//!
//! ```text
//! cargo run --example xdp_counter -- [--packets N] [--generic]
//! ```

mod network;

use core::error::Error;
use core_relo_loader::{
    Loader,
    attach::{self, XdpMode},
    maps::PerCpuArray,
    object::Object,
};
use network::Cable;
use std::{
    env,
    io::{self, Read as _, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    os::fd::AsFd as _,
};

/// The program comes with the executable, which needs no file at run time.
#[cfg(target_endian = "little")]
const OBJECT: &[u8] = include_bytes!("prebuilt/el/xdp_counter.bpf.o");
#[cfg(target_endian = "big")]
const OBJECT: &[u8] = include_bytes!("prebuilt/eb/xdp_counter.bpf.o");

/// Names of the entries of `counts` that are often seen: protocols of IP, and two behind them.
const NAMES: [(u32, &str); 7] =
    [(0, "options"), (1, "ICMP"), (6, "TCP"), (17, "UDP"), (58, "ICMPv6"), (256, "ARP"), (257, "other")];

fn main() -> Result<(), Box<dyn Error>> {
    run(env::args().skip(1), &mut io::stdout())
}

/// All of the program but where its words come from and its lines go.
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
    let cable = Cable::new()?;
    let object = Object::parse(OBJECT)?;
    let loaded = Loader::new(&object).name("xdp_counter").load()?;
    let program = loaded.program("count").ok_or("the object has no program `count`")?;
    // Interfaces are those of the namespace that the thread is in.
    let link = cable.far(|| attach::xdp(program.as_fd(), cable.far_index, mode))??;
    converse(&cable, packets)?;
    link.detach()?;

    let counts = PerCpuArray::<[u64; 2]>::new(loaded.map_handle("counts")?)?;
    writeln!(out, "{:10} {:>8} {:>10}", "PROTOCOL", "FRAMES", "BYTES")?;
    for entry in counts.iter() {
        let (protocol, on_each_cpu) = entry?;
        let sum = |at: usize| on_each_cpu.iter().filter_map(|count| count.get(at)).sum::<u64>();
        let (frames, bytes) = (sum(0), sum(1));
        if frames > 0 {
            let known = NAMES.iter().find(|(number, _)| *number == protocol);
            let name = known.map_or_else(|| format!("IP {protocol}"), |(_, name)| (*name).to_owned());
            writeln!(out, "{name:10} {frames:8} {bytes:10}")?;
        }
    }
    Ok(())
}

/// Datagrams from the near end to the far one, and as many words over a connection.
fn converse(cable: &Cable, packets: u16) -> Result<(), Box<dyn Error>> {
    let listener = cable.far(|| TcpListener::bind((Cable::FAR, 7)))??;
    // Sockets stay in the namespace they were made in, wherever the thread goes.
    let mut connected = cable.near(|| TcpStream::connect((Cable::FAR, 7)))??;
    let (mut accepted, _) = listener.accept()?;
    let to = cable.far(|| UdpSocket::bind((Cable::FAR, 7)))??;
    let from = cable.near(|| UdpSocket::bind((Cable::NEAR, 0)))??;
    let mut got = [0; 4];
    for _ in 0..packets {
        from.send_to(b"ping", to.local_addr()?)?;
        to.recv(&mut got)?;
        connected.write_all(b"ping")?;
        accepted.read_exact(&mut got)?;
    }
    Ok(())
}
