//! Deduplicates the BTF of several files together, with core-relo and with libbpf, and prints types, bytes
//! and times: `cargo run --release -p core-relo-tests --features libbpf --example dedup_times -- FILE...`

use core_relo::btf::{Btf, Builder, dedup};
use core_relo_tests::libbpf;
use std::{env, error::Error, fs, time::Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let mut merged: Option<Builder> = None;
    for path in env::args().skip(1) {
        let bytes = fs::read(&path)?;
        let btf = if bytes.starts_with(b"\x7fELF") {
            core_relo_loader::target::extract(&bytes)?.btf.to_vec()
        } else {
            bytes
        };
        let btf = Btf::parse(btf)?;
        merged.get_or_insert_with(|| Builder::new(btf.endian())).append(&btf)?;
    }
    let merged = merged.ok_or("expected files")?.finish();
    let start = Instant::now();
    let btf = Btf::parse(merged.clone())?;
    let ours = dedup(&btf)?.finish();
    let our_time = start.elapsed();
    let start = Instant::now();
    let mut theirs = libbpf::Btf::parse(&merged, None).ok_or("libbpf does not parse the BTF")?;
    let succeeded = theirs.dedup();
    let their_time = start.elapsed();
    let count = |bytes: &[u8]| Btf::parse(bytes.to_vec()).map(|btf| btf.types().count());
    println!("before:    {:>9} types {:>11} bytes", btf.types().count(), merged.len());
    println!("core-relo: {:>9} types {:>11} bytes in {our_time:?}", count(&ours)?, ours.len());
    let theirs = theirs.raw_data();
    println!(
        "libbpf:    {:>9} types {:>11} bytes in {their_time:?}, succeeded: {succeeded}",
        count(&theirs)?,
        theirs.len()
    );
    Ok(())
}
