//! Verdicts on the places of fields that the kernel manages: within structs and arrays of a value, and among
//! the variables of data sections.

use super::{
    map_uses::{ARRAY, HASH, LOOKUP},
    *,
};
use core_relo_object::test_support::{SectionKind, SymbolKind};

const LOCK: i32 = 93;
const UNLOCK: i32 = 94;
const KPTR_XCHG: i32 = 194;
const PERCPU_ARRAY: u32 = 6;
const TASK_STORAGE: u32 = 29;

/// An observed kernel.
#[derive(Clone, Copy)]
enum Kernel {
    V5_10,
    V6_1,
    V6_12,
    V7_2,
}

const ALL: [Kernel; 4] = [Kernel::V5_10, Kernel::V6_1, Kernel::V6_12, Kernel::V7_2];

fn add_types(kernel: Kernel, b: &mut Builder) {
    let int = b.int("int", 4, Builder::SIGNED);
    let mut helpers = vec![
        ("BPF_FUNC_map_lookup_elem", 1),
        ("BPF_FUNC_spin_lock", 93),
        ("BPF_FUNC_spin_unlock", 94),
        ("BPF_FUNC_per_cpu_ptr", 153),
        ("BPF_FUNC_kptr_xchg", 194),
    ];
    if !matches!(kernel, Kernel::V5_10) {
        helpers.extend([("BPF_FUNC_task_storage_get", 156), ("BPF_FUNC_user_ringbuf_drain", 209)]);
    }
    if matches!(kernel, Kernel::V6_12 | Kernel::V7_2) {
        helpers.push(("BPF_FUNC_cgrp_storage_get", 210));
        b.structure("bpf_insn_aux_data", 4, &[("fastcall_pattern", int, 0)]);
    }
    b.enumeration("bpf_func_id", 4, &helpers);
    let mut attach_types = vec![("BPF_TRACE_ITER", 28)];
    attach_types.extend(matches!(kernel, Kernel::V7_2).then_some(("BPF_TRACE_FSESSION_MULTI", 61)));
    b.enumeration("bpf_attach_type", 4, &attach_types);
    b.structure("bpf_verifier_env", 4, &[("insn_idx", int, 0)]);
}

/// Adds a type with a field in it, by name.
fn add_part(b: &mut Builder, int: TypeId, part: &str) -> (TypeId, u32) {
    let field = |b: &mut Builder, name: &str, bytes| (b.structure(name, bytes, &[]), bytes);
    let lock = |b: &mut Builder| b.structure("bpf_spin_lock", 4, &[("val", int, 0)]);
    match part {
        "int" => (int, 4),
        "lock" => (lock(b), 4),
        "timer" => field(b, "bpf_timer", 16),
        "list" => field(b, "bpf_list_head", 16),
        "kptr" => {
            let object = b.structure("task_struct", 4, &[]);
            let tagged = b.type_tag("kptr", object);
            (b.pointer(tagged), 8)
        }
        "lock in struct" => {
            let lock = lock(b);
            (b.structure("outer", 8, &[("n", int, 0), ("lock", lock, 32)]), 8)
        }
        "resilient lock" => field(b, "bpf_res_spin_lock", 4),
        "timer in struct" => {
            let timer = b.structure("bpf_timer", 16, &[]);
            (b.structure("outer", 16, &[("timer", timer, 0)]), 16)
        }
        "unaligned timer in struct" => {
            let timer = b.structure("bpf_timer", 16, &[]);
            (b.structure("outer", 17, &[("timer", timer, 8)]), 17)
        }
        "lock in array" => {
            let lock = lock(b);
            (b.array(lock, int, 1), 4)
        }
        "two locks in array" => {
            let lock = lock(b);
            (b.array(lock, int, 2), 8)
        }
        "lock by typedef" => {
            let lock = lock(b);
            (b.typedef("lock_t", lock), 4)
        }
        "two timers in array" => {
            let timer = b.structure("bpf_timer", 16, &[]);
            (b.array(timer, int, 2), 32)
        }
        "no timers in array" => {
            let timer = b.structure("bpf_timer", 16, &[]);
            (b.array(timer, int, 0), 0)
        }
        _ => panic!("{part}"),
    }
}

/// Returns the worst verdict of the reasons that the program `main` has on a kernel, as far as they are about
/// maps and the loader.
fn judge_for_loader(loader: LoaderKind, bytes: &[u8], kernel: Kernel) -> Verdict {
    let types = |b: &mut Builder| add_types(kernel, b);
    let verdict = judge_for(loader, bytes, types, &KernelInputs::default(), None);
    let program = verdict.programs.iter().find(|program| program.name == "main").unwrap();
    let is_about_maps = |reason: &&Reason| {
        reason.kind == ReasonKind::Loader
            || (reason.text.starts_with("map ") && !reason.text.contains("map type"))
    };
    let verdicts = program.reasons.iter().filter(is_about_maps).map(|reason| reason.verdict);
    verdicts.max().unwrap_or(Verdict::Loads)
}

/// Returns the verdicts of all kernels on a program that has all parts in the values of a map, and calls a
/// helper with the first.
fn on_values(section: &str, map_type: u32, helper_number: Option<i32>, parts: &[&str]) -> [Verdict; 4] {
    let mut m = TestObject::new();
    let call = match helper_number {
        Some(number) => vec![helper(LOOKUP), insn(0x15, 0, 0, 2, 0), insn(0xbf, 1, 0, 0, 0), helper(number)],
        None => Vec::new(),
    };
    let id = m.program("main", section, &[&load(1, 0)[..], &call, &returns(0)].concat());
    let int = m.int;
    let (mut members, mut bytes) = (Vec::new(), 0u32);
    for part in parts {
        let (ty, size) = add_part(&mut m.types, int, part);
        members.push((part.replace(' ', "_"), ty, bytes.checked_mul(8).unwrap()));
        bytes = bytes.checked_add(size.next_multiple_of(8)).unwrap();
    }
    let members: Vec<_> = members.iter().map(|(name, ty, bit)| (&**name, *ty, *bit)).collect();
    let value = m.types.structure("value", bytes, &members);
    let sizes = if map_type == TASK_STORAGE { [("map_flags", 1)] } else { [("max_entries", 4)] };
    let (_, map) = m.typed_map("m", &[&[("type", map_type)], &sizes[..]].concat(), int, value);
    m.refer(id, 0, map, false);
    let bytes = m.bytes();
    ALL.map(|kernel| judge_for_loader(LoaderKind::CoreRelo, &bytes, kernel))
}

/// A program that takes and releases the lock at the start of a data section.
#[derive(Clone, Copy, PartialEq)]
enum Code {
    NoLock,
    /// It loads the address of the lock twice.
    LoadsTwice,
    /// It keeps the address in a register.
    KeepsAddress,
}

/// Returns the object of a program with all parts as variables of a data section.
fn data_object(section: &str, code: Code, parts: &[&str]) -> Vec<u8> {
    let mut m = TestObject::new();
    let keep = insn(0xbf, 6, 1, 0, 0);
    let insns = match code {
        Code::NoLock => load(1, 0).to_vec(),
        Code::LoadsTwice => [&load(1, 0)[..], &[helper(LOCK)], &load(1, 0), &[helper(UNLOCK)]].concat(),
        Code::KeepsAddress => {
            [&load(1, 0)[..], &[keep, helper(LOCK), insn(0xbf, 1, 6, 0, 0), helper(UNLOCK)]].concat()
        }
    };
    let main = m.program("main", section, &[&insns[..], &returns(0)].concat());
    let data = m.section(".data.a", SectionKind::Data, &[0; 128]);
    let int = m.int;
    let (mut infos, mut offset) = (Vec::new(), 0u32);
    for part in parts {
        let (ty, bytes) = add_part(&mut m.types, int, part);
        let name = &*format!("{}_{offset}", part.replace(' ', "_"));
        infos.push((m.types.var(name, ty, 1), offset, bytes));
        m.symbol(name, SymbolKind::Data, data, u64::from(offset), u64::from(bytes));
        offset = offset.checked_add(bytes.next_multiple_of(8)).unwrap();
    }
    m.types.datasec(".data.a", 128, &infos);
    let symbol = m.section_symbol(data);
    m.refer(main, 0, symbol, false);
    if code == Code::LoadsTwice {
        m.refer(main, 3, symbol, false);
    }
    m.bytes()
}

const L: Verdict = Verdict::Loads;
const R: Verdict = Verdict::Refused;
const U: Verdict = Verdict::Unknown;

/// Linux 6.11 began to look into structs and arrays. These are the answers of real kernels.
#[test]
fn tracing_programs_may_not_use_maps_with_a_field_in_a_struct_since_6_11() {
    let kprobe = |part| on_values("kprobe/x", HASH, None, &["int", part]);
    assert_eq!(kprobe("lock"), [R; 4]);
    assert_eq!(kprobe("lock in struct"), [L, L, R, R]);
    assert_eq!(kprobe("lock in array"), [L, L, R, R]);
    assert_eq!(kprobe("timer in struct"), [L, L, R, L], "7.2 lets them use timers");
    assert_eq!(kprobe("unaligned timer in struct"), [L; 4], "the kernel skips the timer");
    assert_eq!(on_values("socket", HASH, None, &["int", "lock in struct"]), [L, L, R, R]);
    assert_eq!(on_values("tc", HASH, None, &["int", "lock in struct"]), [L; 4]);
    let beside = on_values("kprobe/x", HASH, None, &["lock in struct", "two timers in array"]);
    assert_eq!(beside, [L, L, U, U], "no kernel finds the lock beside two timers");
    let two_locks = on_values("kprobe/x", HASH, None, &["lock in struct", "resilient lock"]);
    assert_eq!(two_locks[3], U, "kernels with resilient locks find neither");
}

#[test]
fn local_storage_has_no_timers_in_structs_since_6_11() {
    assert_eq!(on_values("tc", TASK_STORAGE, None, &["timer in struct"])[1..], [L, R, R]);
    assert_eq!(on_values("tc", TASK_STORAGE, None, &["lock in struct"])[1..], [L; 3]);
}

/// From 6.11 on, kernels find no field beside one in a struct that maps of the type may not have, or beside
/// several.
#[test]
fn a_field_in_a_struct_may_hide_others() {
    let kptr = |map_type, part| on_values("tc", map_type, Some(KPTR_XCHG), &["kptr", part])[2..].to_vec();
    assert_eq!(kptr(PERCPU_ARRAY, "int"), [L, L]);
    assert_eq!(kptr(PERCPU_ARRAY, "timer in struct"), [R, R]);
    assert_eq!(kptr(HASH, "timer in struct"), [L, L]);
    assert_eq!(kptr(HASH, "two timers in array"), [R, R]);
    let lock = |part| on_values("tc", ARRAY, Some(LOCK), &["lock", part]);
    assert_eq!(lock("two timers in array"), [L, L, R, R]);
    assert_eq!(lock("no timers in array"), [L; 4]);
}

/// Loaders map data sections into memory, and kernels that find a field in them refuse that. libbpf did not
/// map them before 1.5.
#[test]
fn sections_with_fields_in_variables_are_not_mapped() {
    let mapped = |parts: &[&str]| {
        let bytes = data_object("tc", Code::NoLock, parts);
        [LoaderKind::Cilium, LoaderKind::Libbpf]
            .map(|loader| ALL.map(|kernel| judge_for_loader(loader, &bytes, kernel)))
    };
    assert_eq!(mapped(&["lock", "timer"]), [[L, R, R, R], [L, U, U, U]], "two fields");
    assert_eq!(mapped(&["lock in struct"]), [[L, L, R, R], [L, L, U, U]]);
    assert_eq!(mapped(&["lock in array"]), [[L, L, R, R], [L, L, U, U]]);
    assert_eq!(mapped(&["list"]), [[L; 4]; 2], "a list without a lock is none");
    assert_eq!(mapped(&["list", "lock"])[0], [L, R, U, U], "a list may have no type");
    assert_eq!(mapped(&["kptr"])[0], [L, U, U, U], "a kernel may lack the type of the pointer");
    assert_eq!(mapped(&["lock", "lock in array"])[0], [L, R, U, U]);
    assert_eq!(mapped(&["int"]), [[L; 4]; 2]);
}

/// Returns the verdicts of all kernels on a program of a data section with all parts.
fn on_variables(code: Code, parts: &[&str]) -> [Verdict; 4] {
    let bytes = data_object("tc", code, parts);
    ALL.map(|kernel| judge_for_loader(LoaderKind::CoreRelo, &bytes, kernel))
}

/// Kernels find one variable of a kind, and none by a typedef or among the elements of an array. These are
/// the answers of real kernels.
#[test]
fn some_locks_of_data_sections_are_found_by_no_kernel() {
    let take = |parts: &[&str]| on_variables(Code::KeepsAddress, parts);
    assert_eq!(take(&["lock", "lock"]), [R; 4]);
    assert_eq!(take(&["two locks in array"]), [R; 4]);
    assert_eq!(take(&["lock by typedef"]), [R; 4]);
    assert_eq!(take(&["int"]), [R; 4]);
    assert_eq!(
        take(&["lock", "two timers in array"]),
        [R, L, R, R],
        "6.2 to 6.10 find the lock, 6.11 finds none"
    );
    assert_eq!(take(&["lock", "int", "timer", "kptr"]), [R, L, L, L]);
    assert_eq!(on_variables(Code::NoLock, &["lock", "lock"]), [L; 4]);
}

/// Linux 5.10 finds no locks among variables, and kernels before 6.2 take each load of the address for
/// another lock.
#[test]
fn locks_of_data_sections_are_taken_since_6_2() {
    let judge = |code, part| on_variables(code, &[part]);
    assert_eq!(judge(Code::LoadsTwice, "lock"), [R, R, L, L]);
    assert_eq!(judge(Code::KeepsAddress, "lock"), [R, L, L, L]);
    assert_eq!(judge(Code::NoLock, "lock"), [L; 4]);
    assert_eq!(judge(Code::KeepsAddress, "lock in array"), [R, R, L, L]);
}
