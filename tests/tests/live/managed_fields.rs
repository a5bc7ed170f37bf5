//! Fields of map values that the kernel manages, such as locks, in any place of a value: the verdict beside
//! the load of the running kernel. `CORE_RELO_SEED` selects the values, `CORE_RELO_ROUNDS` their number.

use super::{
    generated::{judge_all, number},
    harness::{Need, live},
};
use core_relo::{TypeId, btf::Builder};
use core_relo_loader::{Loader, object::Object};
use core_relo_object::test_support::{TestObject, load, returns};
use core_relo_verdict::judge::Verdict;
use fastrand::Rng;

const HASH: u32 = 1;
const ARRAY: u32 = 2;
const PERCPU_ARRAY: u32 = 6;
const LRU_HASH: u32 = 9;
const TASK_STORAGE: u32 = 29;

/// The fields, with their sizes in bytes.
const FIELDS: [(&str, u32); 4] =
    [("bpf_spin_lock", 4), ("bpf_timer", 16), ("bpf_wq", 16), ("bpf_res_spin_lock", 4)];

/// The parts of verifier logs about programs that may not use a map with a field.
const JUDGED: [&str; 2] = ["progs cannot use bpf_", "progs can't use bpf_"];

/// Where a value has a field.
#[derive(Clone, Copy)]
enum Place {
    Member,
    Struct,
    Array,
    EmptyArray,
    Union,
    /// At an offset that is no multiple of the alignment.
    Unaligned,
}

const PLACES: [Place; 8] = [
    Place::Member,
    Place::Member,
    Place::Struct,
    Place::Struct,
    Place::Array,
    Place::EmptyArray,
    Place::Union,
    Place::Unaligned,
];

/// Adds the struct of values: some fields, each at one place, and numbers.
fn add_value(rng: &mut Rng, b: &mut Builder, int: TypeId) -> TypeId {
    let (mut members, mut bytes) = (Vec::new(), 8_u32);
    for (name, size) in FIELDS {
        if rng.u8(..3) > 0 {
            continue;
        }
        let field = b.structure(name, size, &[]);
        let mut add = |ty, at: u32, size: u32| {
            members.push((name, ty, (bytes + at) * 8));
            bytes += (at + size).next_multiple_of(8);
        };
        match rng.choice(PLACES).unwrap() {
            Place::Member => add(field, 0, size),
            Place::Unaligned => add(field, 2, size),
            Place::Struct => {
                let start = rng.choice([0_u32, 8]).unwrap();
                let members = [("n", int, 0), ("field", field, start * 8)];
                let members = if start == 0 { &members[1..] } else { &members[..] };
                add(b.structure("outer", start + size, members), 0, start + size);
            }
            Place::Array => add(b.array(field, int, 1), 0, size),
            Place::EmptyArray => add(b.array(field, int, 0), 0, 0),
            Place::Union => add(b.union("either", size, &[("field", field, 0)]), 0, size),
        }
    }
    members.insert(0, ("number", int, 0));
    b.structure("value", bytes, &members)
}

/// Creates an object with a program that uses a map.
fn generate(rng: &mut Rng) -> Vec<u8> {
    let mut m = TestObject::new();
    let section = rng.choice(["kprobe/do_nanosleep", "raw_tp/sys_enter", "socket", "tc"]).unwrap();
    let code = m.code(section, &[&load(1, 0)[..], &returns(0)].concat());
    m.function("main", code, 0, 4);
    let int = m.int;
    let value = add_value(rng, &mut m.types, int);
    let map_type = rng.choice([HASH, HASH, ARRAY, LRU_HASH, PERCPU_ARRAY, TASK_STORAGE]).unwrap();
    let size = if map_type == TASK_STORAGE { ("map_flags", 1) } else { ("max_entries", 4) };
    let (_, map) = m.typed_map("m", &[("type", map_type), size], int, value);
    m.refer(code, 0, map, false);
    m.bytes()
}

#[test]
fn verdicts_on_values_with_managed_fields_agree_with_the_kernel() {
    const TEST: &str = "managed_fields::verdicts_on_values_with_managed_fields_agree_with_the_kernel";
    let Some(_live) = live(TEST, &[Need::Btf]) else { return };
    let (seed, rounds) = (number("CORE_RELO_SEED", 2026), number("CORE_RELO_ROUNDS", 300));
    println!("CORE_RELO_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let bytes: Vec<_> = (0..rounds).map(|_| generate(&mut rng)).collect();
    let objects: Vec<_> = bytes.iter().map(|bytes| Object::parse(bytes).unwrap()).collect();
    let verdicts = judge_all(&objects);
    let [mut loads, mut refused, mut unknown] = [0_usize; 3];
    let mut failures = Vec::new();
    for (round, (object, verdict)) in objects.iter().zip(&verdicts).enumerate() {
        let error = Loader::new(object).load().err().map(|error| format!("{error}\n{error:?}"));
        let is_judged = error.as_ref().is_some_and(|error| JUDGED.iter().any(|part| error.contains(part)));
        let program = &verdict.programs[0];
        match (program.verdict, &error) {
            (Verdict::Loads, None) => loads += 1,
            (Verdict::Refused, Some(_)) => refused += 1,
            (Verdict::Unknown, _) => unknown += 1,
            (Verdict::Loads, Some(_)) if !is_judged => {}
            (found, _) => {
                if let Ok(dir) = std::env::var("CORE_RELO_KEEP") {
                    std::fs::write(format!("{dir}/fields-{seed}-{round}.o"), &bytes[round]).unwrap();
                }
                failures.push(format!("{round}: {found}: {:?}: {error:?}", program.reasons));
            }
        }
    }
    println!("loads {loads}, refused {refused}, unknown {unknown}");
    assert!(failures.is_empty(), "{} of {rounds}:\n{}", failures.len(), failures.join("\n"));
    assert!(rounds < 100 || loads > 0 && refused > 0, "the values show nothing");
}
