//! Programs that `BPF_PROG_TEST_RUN` runs. Their globals show the results of externs, maps, functions and
//! relocations.

use super::harness::{Need, hits, kernel_version, live, load, load_with, run, run_with};
use core_relo_loader::{
    attach,
    inventory::ProgramLines,
    load::{Kernel as _, LoadError, MapCreate, RunningKernel, TestRun},
    maps::{
        Array, ArrayOfMaps, Flags, HashMap, LpmKey, LpmTrie, MapFd, PerCpuArray, Queue, Stack, TaskStorage,
    },
};
use std::{
    os::{fd::AsFd as _, unix::process::parent_id},
    thread::sleep,
    time::{Duration, Instant},
};

#[test]
fn a_socket_filter_sees_a_packet() {
    let Some(_live) = live("test_runs::a_socket_filter_sees_a_packet", &[]) else { return };
    let loaded = load("socket_filter");
    // A socket filter sees the packet without its Ethernet header.
    assert_eq!(run(&loaded, "filter"), 64 - 14);
    assert_eq!((hits(&loaded), loaded.global::<u64>("bytes").unwrap()), (1, 50));
    loaded.set_global("deny", &1u32).unwrap();
    assert_eq!((run(&loaded, "filter"), hits(&loaded)), (0, 2));
}

#[test]
fn variables_of_every_section_are_set_and_read() {
    let Some(_live) = live("test_runs::variables_of_every_section_are_set_and_read", &[]) else { return };
    let loaded = load_with("globals", |loader| {
        loader.set_global("factor", &3u64).unwrap();
        loader.set_global("weights", &[10u32, 20, 30, 40]).unwrap();
        loader.set_global("apart", &1000u64).unwrap();
    });
    run(&loaded, "add");
    let read = |name| loaded.global::<u64>(name).unwrap();
    assert_eq!((read("hits"), read("sum"), read("apart"), read("factor")), (1, 105 * 3, 1002, 3));
    loaded.set_global("sum", &0u64).unwrap();
    run(&loaded, "add");
    assert_eq!(read("sum"), 300);
    let mapped = loaded.mapped(".data").unwrap();
    let sum = loaded.globals().iter().find(|g| g.name == "sum").unwrap();
    assert_eq!(mapped.read::<u64>(sum.offset).unwrap(), 300);
    assert!(loaded.set_global("factor", &4u64).is_err(), "a constant was changed after the load");
    assert_eq!(read("factor"), 3);
}

#[test]
fn subprograms_are_linked() {
    let Some(_live) = live("test_runs::subprograms_are_linked", &[]) else { return };
    let loaded = load("subprograms");
    assert_eq!((run(&loaded, "plain"), hits(&loaded)), (41, 1));
}

#[test]
fn functions_of_any_section_are_linked() {
    let needs = [Need::Jit, Need::Enumerator("BPF_FUNC_for_each_map_elem")];
    let Some(_live) = live("test_runs::functions_of_any_section_are_linked", &needs) else { return };
    let loaded = load("own_sections");
    let names: Vec<_> = loaded.programs().iter().map(|p| p.name()).collect();
    assert_eq!(names, ["middle", "outer", "add"]);
    // `inner` is in a `?` section. It is linked into the other programs, with its CO-RE relocation applied.
    let inner = 4 * 10 + 1 + 16;
    assert_eq!((run(&loaded, "middle"), hits(&loaded)), (inner + 100, 2));
    assert_eq!((run(&loaded, "outer"), hits(&loaded)), (inner + 1100, 5));
    let numbers = Array::<u64>::new(loaded.map_handle("numbers").unwrap()).unwrap();
    for at in 0..4u32 {
        numbers.set(at, &(u64::from(at) + 1)).unwrap();
    }
    run(&loaded, "add");
    assert_eq!((hits(&loaded), loaded.global::<u64>("sum").unwrap()), (6, 20));
    // The kernel has a function record for functions of every section.
    let outer = loaded.program("outer").unwrap();
    let records = ProgramLines::query(outer).unwrap();
    assert_eq!((outer.plan.functions().len(), records.functions.len()), (7, 7));
    let all = load_with("own_sections", |loader| loader.program_mut("inner").autoload = Some(true));
    assert_eq!((run(&all, "inner"), hits(&all)), (inner, 1));
}

#[test]
fn callbacks_are_called() {
    let needs = [Need::Jit, Need::Enumerator("BPF_FUNC_for_each_map_elem")];
    let Some(_live) = live("test_runs::callbacks_are_called", &needs) else { return };
    let loaded = load("callbacks");
    let numbers = Array::<u64>::new(loaded.map_handle("numbers").unwrap()).unwrap();
    for at in 0..4u32 {
        numbers.set(at, &(u64::from(at) + 1)).unwrap();
    }
    run(&loaded, "add");
    assert_eq!((hits(&loaded), loaded.global::<u64>("sum").unwrap()), (1, 20));
}

#[test]
fn a_tail_call_continues_in_another_program() {
    let Some(_live) = live("test_runs::a_tail_call_continues_in_another_program", &[]) else { return };
    let loaded = load("tail_call");
    assert_eq!((run(&loaded, "start"), hits(&loaded)), (7, 1));
    // Entry 1 is empty.
    loaded.set_global("entry", &1u32).unwrap();
    assert_eq!((run(&loaded, "start"), hits(&loaded)), (1, 1));
}

#[test]
fn a_map_of_maps_is_filled_by_both_sides() {
    let Some(_live) = live("test_runs::a_map_of_maps_is_filled_by_both_sides", &[]) else { return };
    let loaded = load("map_in_map");
    let first = Array::<u64>::new(loaded.map_handle("first").unwrap()).unwrap();
    first.set(0, &11).unwrap();
    let outer = ArrayOfMaps::new(loaded.map_handle("outer").unwrap()).unwrap();
    let second = RunningKernel.map_create(&MapCreate {
        map_type: 2,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        ..MapCreate::default()
    });
    let second = MapFd::new(second.unwrap()).unwrap();
    Array::<u64>::open(&second).unwrap().set(0, &22).unwrap();
    outer.set(&1, &second).unwrap();
    run(&loaded, "look");
    let read = |name| loaded.global::<u64>(name).unwrap();
    assert_eq!((read("hits"), read("from_first"), read("from_second")), (1, 11, 22));
}

#[test]
fn maps_are_written_and_read_by_both_sides() {
    let Some(_live) = live("test_runs::maps_are_written_and_read_by_both_sides", &[]) else { return };
    let loaded = load("maps");
    let map = |name| loaded.map_handle(name).unwrap();
    let hash = HashMap::<u32, u64>::new(map("hash")).unwrap();
    hash.insert(&3, &33, Flags::ANY).unwrap();
    let trie = LpmTrie::<u32, u64>::new(map("trie")).unwrap();
    trie.insert(&LpmKey::new(0, 0), &44, Flags::ANY).unwrap();
    for _ in 0..2 {
        run(&loaded, "touch");
    }
    let read = |name| loaded.global::<u64>(name).unwrap();
    assert_eq!((read("hits"), read("from_hash"), read("from_trie")), (2, 33, 44));
    assert_eq!(hash.get(&1).unwrap(), Some(2));
    assert_eq!(Array::<u64>::new(map("array")).unwrap().get(1).unwrap(), Some(2));
    let per_cpu = PerCpuArray::<u64>::new(map("percpu_array")).unwrap().get(1).unwrap().unwrap();
    assert_eq!(per_cpu.iter().max(), Some(&2));
    let queue = Queue::<u64>::new(map("queue")).unwrap();
    assert_eq!([queue.pop(), queue.pop(), queue.pop()].map(Result::unwrap), [Some(1), Some(2), None]);
    let stack = Stack::<u64>::new(map("stack")).unwrap();
    assert_eq!([stack.pop(), stack.pop(), stack.pop()].map(Result::unwrap), [Some(2), Some(1), None]);
}

#[test]
fn core_relocations_fit_the_running_kernel() {
    let Some(_live) = live("test_runs::core_relocations_fit_the_running_kernel", &[Need::Btf]) else {
        return;
    };
    let loaded = load("core");
    let link = loaded.attach("enter").unwrap();
    let parent = parent_id();
    link.detach().unwrap();
    let read = |name| loaded.global::<u32>(name).unwrap();
    assert!(hits(&loaded) > 0);
    assert_eq!((read("tgid"), read("parent")), (std::process::id(), parent));
    assert_eq!((read("comm_size"), read("ringbuf"), read("no_such_type")), (16, 27, 0));
    let is_new = kernel_version() >= (5, 14);
    assert_eq!((read("has_state"), read("state_size")), if is_new { (1, 4) } else { (0, 8) });
    let comm = loaded.global::<[u8; 16]>("comm").unwrap();
    let comm = comm.split(|byte| *byte == 0).next().unwrap_or_default();
    // Another thread of this process may have run the program last.
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let names = threads.map(|thread| std::fs::read(thread.unwrap().path().join("comm")).unwrap());
    assert!(names.into_iter().any(|name| name.trim_ascii_end() == comm), "{}", comm.escape_ascii());
}

#[test]
fn kconfig_externs_have_the_kernels_values() {
    let Some(_live) = live("test_runs::kconfig_externs_have_the_kernels_values", &[Need::Configuration])
    else {
        return;
    };
    let loaded = load("kconfig");
    run(&loaded, "look");
    let (hz, version) = (loaded.global::<u64>("hz").unwrap(), loaded.global::<u32>("version").unwrap());
    assert!([100, 250, 300, 1000].contains(&hz), "{hz}");
    let (major, minor) = kernel_version();
    assert_eq!((version >> 16, version >> 8 & 0xff), (major, minor));
    let read = |name| loaded.global::<u32>(name).unwrap();
    assert_eq!((read("bpf_syscall"), read("net"), read("missing")), (1, 1, 0));
    let name = loaded.global::<[u8; 16]>("hostname").unwrap();
    assert!(name.starts_with(b"(none)"), "{}", name.escape_ascii());
}

#[test]
fn kconfig_externs_have_the_given_values() {
    let Some(_live) = live("test_runs::kconfig_externs_have_the_given_values", &[]) else { return };
    // The caller gives the configuration, so the loader reads none from the machine.
    let loaded = load_with("kconfig", |loader| {
        let text = "CONFIG_HZ=123\nCONFIG_BPF_SYSCALL=y\nCONFIG_NET=m\nCONFIG_DEFAULT_HOSTNAME=\"given\"\n";
        loader.settings_mut().kconfig = Some(text.to_owned());
    });
    run(&loaded, "look");
    let read = |name| loaded.global::<u32>(name).unwrap();
    assert_eq!((loaded.global::<u64>("hz").unwrap(), read("net"), read("bpf_syscall")), (123, 2, 1));
    assert!(loaded.global::<[u8; 16]>("hostname").unwrap().starts_with(b"given\0"));
}

#[test]
fn ksyms_have_the_kernels_addresses() {
    let Some(_live) = live("test_runs::ksyms_have_the_kernels_addresses", &[Need::Variable("runqueues")])
    else {
        return;
    };
    let loaded = load("ksym");
    run(&loaded, "look");
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap();
    let line = symbols.lines().find(|line| line.split_ascii_whitespace().nth(2) == Some("schedule")).unwrap();
    let address = u64::from_str_radix(line.split_ascii_whitespace().next().unwrap(), 16).unwrap();
    assert_eq!(loaded.global::<u64>("schedule_address").unwrap(), address);
    assert_eq!(loaded.global::<u64>("missing_address").unwrap(), 0);
    assert_eq!(loaded.global::<i32>("cpu").unwrap(), 0);
}

#[test]
fn kfuncs_are_called() {
    let needs = [Need::Jit, Need::Function("bpf_task_from_pid"), Need::Function("bpf_task_release")];
    let Some(_live) = live("test_runs::kfuncs_are_called", &needs) else { return };
    let loaded = load("kfunc");
    assert_eq!((run(&loaded, "find"), hits(&loaded)), (0, 1));
    assert_eq!(loaded.global::<i32>("tgid").unwrap().cast_unsigned(), std::process::id());
    assert_eq!(loaded.global::<u32>("has_other").unwrap(), 0);
}

#[test]
fn kptrs_are_kept_in_maps() {
    let Some(_live) =
        live("test_runs::kptrs_are_kept_in_maps", &[Need::Jit, Need::Function("bpf_task_from_pid")])
    else {
        return;
    };
    let loaded = load("kptr");
    assert_eq!([run(&loaded, "swap"), run(&loaded, "swap")], [0, 0]);
    assert_eq!((hits(&loaded), loaded.global::<u64>("replaced").unwrap()), (2, 1));
}

#[test]
fn an_exception_ends_a_program() {
    let Some(_live) =
        live("test_runs::an_exception_ends_a_program", &[Need::Jit, Need::Function("bpf_throw")])
    else {
        return;
    };
    let bytes = super::harness::object("exceptions");
    let object = core_relo_loader::object::Object::parse(&bytes).unwrap();
    let loaded = match core_relo_loader::Loader::new(&object).load() {
        // The JIT compilers of some architectures cannot unwind the stack.
        Err(error) if error.verifier_log().is_some_and(|log| log.contains("JIT does not support")) => {
            let reason = "the JIT compiler of this architecture has no exceptions";
            return core_relo_test_support::skip("test_runs::an_exception_ends_a_program", reason);
        }
        loaded => loaded.unwrap_or_else(|e| panic!("{e}")),
    };
    assert_eq!(run(&loaded, "outer"), 1);
    loaded.set_global("code", &9u32).unwrap();
    assert_eq!((run(&loaded, "outer"), hits(&loaded)), (9, 2));
}

#[test]
fn an_open_coded_iterator_loops() {
    let Some(_live) =
        live("test_runs::an_open_coded_iterator_loops", &[Need::Jit, Need::Function("bpf_iter_num_new")])
    else {
        return;
    };
    let loaded = load_with("iter_num", |loader| {
        loader.set_global("limit", &101u32).unwrap();
    });
    run(&loaded, "add");
    assert_eq!((hits(&loaded), loaded.global::<u64>("sum").unwrap()), (1, 5050));
}

#[test]
fn timers_fire() {
    let Some(_live) = live(
        "test_runs::timers_fire",
        &[Need::Jit, Need::Enumerator("BPF_FUNC_timer_init"), Need::MemoryAnywhere],
    ) else {
        return;
    };
    let loaded = load("timer");
    assert_eq!((run(&loaded, "start"), hits(&loaded)), (0, 1));
    let begun = Instant::now();
    while loaded.global::<u64>("fired").unwrap() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "the timer does not fire");
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn task_storage_is_shared_with_user_space() {
    let needs = [Need::Enumerator("BPF_MAP_TYPE_TASK_STORAGE"), Need::MemoryAnywhere];
    let Some(_live) = live("test_runs::task_storage_is_shared_with_user_space", &needs) else { return };
    let loaded = load("task_storage");
    let link = loaded.attach("enter").unwrap();
    let _parent = parent_id();
    link.detach().unwrap();
    assert!(hits(&loaded) > 0);
    let calls = TaskStorage::<u64>::new(loaded.map_handle("calls").unwrap()).unwrap();
    // A pidfd refers to the first thread of the process, which may differ from this thread.
    let pid = rustix::process::Pid::from_raw(std::process::id().cast_signed()).unwrap();
    let process = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
    calls.insert(process.as_fd(), &77, Flags::ANY).unwrap();
    assert_eq!(calls.get(process.as_fd()).unwrap(), Some(77));
    assert!(calls.remove(process.as_fd()).unwrap());
    assert_eq!(calls.get(process.as_fd()).unwrap(), None);
}

#[test]
fn an_arena_is_shared_with_a_program() {
    let Some(_live) =
        live("test_runs::an_arena_is_shared_with_a_program", &[Need::Arena, Need::MemoryAnywhere])
    else {
        return;
    };
    let loaded = load("arena");
    for _ in 0..3 {
        assert_eq!(run_with(&loaded, "count", &mut TestRun::default()), 0);
    }
    assert_eq!(hits(&loaded), 3);
    let arena = loaded.map("arena").unwrap().arena().unwrap();
    let at = arena.offset_of(loaded.global::<u64>("address").unwrap()).unwrap();
    assert_eq!(arena.read::<u64>(at).unwrap(), 3);
    arena.write(at, &100u64).unwrap();
    run_with(&loaded, "count", &mut TestRun::default());
    assert_eq!(arena.read::<u64>(at).unwrap(), 101);
}

#[test]
fn a_syscall_program_runs() {
    let Some(_live) = live("test_runs::a_syscall_program_runs", &[Need::Enumerator("BPF_PROG_TYPE_SYSCALL")])
    else {
        return;
    };
    let loaded = load("syscall");
    let context: Vec<u8> = [20u64, 22, 0].iter().flat_map(|n| n.to_ne_bytes()).collect();
    let mut after = [0; 24];
    run_with(&loaded, "add", &mut TestRun { ctx_in: &context, ctx_out: &mut after, ..TestRun::default() });
    assert_eq!((hits(&loaded), u64::from_ne_bytes(after[16..].try_into().unwrap())), (1, 42));
}

#[test]
fn a_missing_jit_compiler_is_named() {
    let test = "test_runs::a_missing_jit_compiler_is_named";
    let Some(_live) = live(test, &[Need::Enumerator("BPF_FUNC_for_each_map_elem")]) else { return };
    if Need::Jit.is_met().is_ok() {
        core_relo_test_support::skip(test, "this kernel has a JIT compiler");
        return;
    }
    let bytes = super::harness::object("callbacks");
    let object = core_relo_loader::object::Object::parse(&bytes).unwrap();
    let refused = core_relo_loader::Loader::new(&object).load().unwrap_err().to_string();
    assert!(refused.contains("net.core.bpf_jit_enable=1"), "{refused}");
}

#[test]
fn a_missing_kfunc_is_named() {
    let test = "test_runs::a_missing_kfunc_is_named";
    let Some(_live) = live(test, &[Need::Btf]) else { return };
    if (Need::Function("bpf_throw")).is_met().is_ok() {
        core_relo_test_support::skip(test, "this kernel has bpf_throw");
        return;
    }
    let bytes = super::harness::object("exceptions");
    let object = core_relo_loader::object::Object::parse(&bytes).unwrap();
    let error = core_relo_loader::Loader::new(&object).name("exceptions").load().unwrap_err();
    assert!(matches!(error, LoadError::Plan { .. }) && error.to_string().contains("bpf_throw"), "{error}");
}

#[test]
fn attach_all_attaches_every_program() {
    let Some(_live) = live("test_runs::attach_all_attaches_every_program", &[Need::Btf]) else { return };
    let loaded = load("tp_btf");
    let links = loaded.attach_all().unwrap();
    assert_eq!(links.len(), 2);
    sleep(Duration::from_millis(2));
    let _parent = parent_id();
    assert!(hits(&loaded) > 0 && loaded.global::<u64>("switches").unwrap() > 0);
    drop(links);
    let error = loaded.attach("no_such_program").unwrap_err();
    assert!(matches!(error, attach::AttachError::Target { .. }), "{error}");
}
