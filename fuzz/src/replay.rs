//! The checks without a fuzzer, on any toolchain: `replay CHECK SECONDS FILE|FOLDER...`
//!
//! Runs every file given, then mutations of them (a byte changed, a piece cut, doubled or taken from another file) until the
//! time is up. The generator's seed is printed, so that a crash can be had again with `SEED=n`.

use core_relo_fuzz::CHECKS;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant, SystemTime},
};

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let (name, seconds) =
        (args.next().unwrap_or_default(), args.next().and_then(|s| s.parse().ok()).unwrap_or(10));
    let Some((name, check)) = CHECKS.iter().find(|(known, _)| *known == name) else {
        let known: Vec<_> = CHECKS.iter().map(|(name, _)| *name).collect();
        eprintln!("usage: replay CHECK SECONDS FILE|FOLDER...   (CHECK: {})", known.join(", "));
        return ExitCode::from(2);
    };
    let mut seeds = Vec::new();
    args.for_each(|path| gather(Path::new(&path), &mut seeds));
    if seeds.is_empty() {
        eprintln!("replay: no files to begin with");
        return ExitCode::from(2);
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |d| d.as_secs());
    let seed = env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(now | 1);
    println!("replay {name}: {} files, {seconds} s, SEED={seed}", seeds.len());
    seeds.iter().for_each(|seed| check(seed));
    let (until, mut random, mut runs) = (Instant::now() + Duration::from_secs(seconds), Random(seed), 0u64);
    let mut slowest = Duration::ZERO;
    while Instant::now() < until {
        let input = mutate(&seeds, &mut random);
        let begin = Instant::now();
        check(&input);
        slowest = slowest.max(begin.elapsed());
        runs += 1;
    }
    println!("replay {name}: {runs} mutations, none panicked, the slowest took {slowest:?}");
    ExitCode::SUCCESS
}

fn gather(path: &Path, into: &mut Vec<Vec<u8>>) {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| gather(entry, into));
    } else if let Ok(bytes) = fs::read(path) {
        into.push(bytes);
    }
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn mutate(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(4) {
        if input.is_empty() {
            break;
        }
        let at = random.below(input.len());
        match random.below(6) {
            0 => input[at] ^= 1 << random.below(8),
            1 => input[at] = random.next() as u8,
            2 => input[at] = [0, 0xff, 0x7f, 0x80][random.below(4)],
            3 => input.truncate(at),
            4 => {
                // A word of the format is changed as a whole: an id, an offset, a length.
                let word = [0u32, 1, u32::MAX, 0x7fff_ffff, random.next() as u32 & 0xff][random.below(5)];
                let aligned = at & !3;
                if let Some(place) = input.get_mut(aligned..aligned + 4) {
                    place.copy_from_slice(&word.to_le_bytes());
                }
            }
            _ => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let len = random.below(other.len() - from + 1).min(64);
                let end = (at + len).min(input.len());
                input.splice(at..end, other[from..from + len].iter().copied());
            }
        }
    }
    input
}
