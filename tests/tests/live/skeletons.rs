//! Skeletons: the generated types and handles against what programs and the kernel do.

use super::harness::{Need, live};
use core_relo_loader::{
    inventory,
    load::TestRun,
    maps::{Flags, HashMap, MapError},
    skeleton::{CText, EventError},
};
use std::{ops::ControlFlow, os::fd::AsFd as _, process, thread, time::Duration};

include!("skeletons/arena_globals.skel.rs");
include!("skeletons/skeleton.skel.rs");

use arena_globals::ArenaGlobals;
use skeleton::{EventsEvent, Flow, Flow2, Heat, Mode, OpenSkeleton, Skeleton, Tiny};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(5));

/// Opens the skeleton with values in each kind of member.
fn open() -> OpenSkeleton {
    let mut open = Skeleton::open().unwrap();
    let settings = &mut open.globals.settings;
    settings.r#type = 77;
    settings.mode = Mode::MODE_ALWAYS;
    settings.heat = Heat::COLD;
    settings.tiny = Tiny::TINY_SOME;
    settings.is_on = true.into();
    settings.set_low(5);
    settings.set_high(2);
    settings.set_negative(-7);
    settings.set_wide(0x12_3456_789a);
    settings.set_narrow(Mode::MODE_ON);
    settings.address.set_ipv4(0x0a00_0001);
    settings.endpoints[0].port = 53;
    settings.endpoints[1].port = 443;
    settings.anon_48.set_number(1 << 33);
    settings.name = *b"skeleton\0\0\0\0\0\0\0\0";
    settings.ratio = 0.5;
    settings.huge = -2;
    settings.header.id = 9;
    settings.r#match = 0xffff;
    open
}

fn run(program: Option<&core_relo_loader::load::LoadedProgram>) -> u32 {
    let packet = [0; 64];
    let mut options = TestRun { data_in: &packet, ..TestRun::default() };
    inventory::test_run(program.unwrap(), &mut options).unwrap().retval
}

#[test]
fn a_value_of_every_kind_of_type_goes_to_the_program_and_back() {
    let Some(_live) = live("skeletons::a_value_of_every_kind_of_type_goes_to_the_program_and_back", &[])
    else {
        return;
    };
    let mut open = open();
    open.globals.step.set(20u64);
    *open.globals.total += 1;
    let skeleton = open.load().unwrap();
    assert_eq!(run(skeleton.programs.run.loaded()), 0);

    let copy = skeleton.maps.copies.get(0).unwrap().unwrap();
    assert_eq!(
        (copy.r#type, copy.mode, copy.heat, copy.tiny),
        (77, Mode::MODE_ON, Heat::COLD, Tiny::TINY_SOME)
    );
    assert_eq!((copy.is_on, copy.low(), copy.high(), copy.wide()), (true.into(), 5, 2, 0x12_3456_789a));
    assert_eq!((copy.negative(), copy.narrow()), (-8, Mode::MODE_ON), "the program subtracts 1");
    // The members of these unions are the first and the second half of a number in memory.
    let (second_of_address, second_of_number) =
        if cfg!(target_endian = "little") { (0x0a00, 2) } else { (1, 0) };
    assert_eq!((copy.address.ipv4(), copy.address.halves().high), (0x0a00_0001, second_of_address));
    assert_eq!((copy.anon_48.anon_1().high_word, { copy.header.id }), (second_of_number, 9));
    assert_eq!((copy.ratio, copy.huge, copy.r#match), (0.5, -2, 0xffff));
    let shown = format!("{copy:?}");
    for part in
        ["type: 77", "mode: MODE_ON", "heat: COLD", "name: \"skeleton\"", "is_on: true", "negative: -8"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let key = Flow { address: 0x0a00_0001, port: 443, ..Flow::default() };
    assert_eq!(skeleton.maps.flows.get(&key).unwrap(), Some(Flow2 { packets: 1, bytes: 77 }));

    let globals = &skeleton.globals;
    assert_eq!((globals.total.get().unwrap(), globals.step.get().unwrap()), (121, 20));
    assert_eq!((globals.per_kind.get().unwrap(), globals.r#type.get().unwrap().x), ([0, 1, 1], 53));
    assert!(globals.has_run.get().unwrap().get());
    assert_eq!(globals.settings.get_boxed().unwrap().huge, -2);
    globals.total.set(7u64).unwrap();
    assert_eq!(run(skeleton.programs.run.loaded()), 0);
    assert_eq!(globals.total.get().unwrap(), 27);
    skeleton.maps.untyped.insert(&[1; 4], &[2; 8], Flags::ANY).unwrap();
}

#[test]
fn events_are_decoded_by_their_kind() {
    let Some(_live) = live("skeletons::events_are_decoded_by_their_kind", &[]) else { return };
    let skeleton = open().load().unwrap();
    run(skeleton.programs.run.loaded());
    run(skeleton.programs.send_short.loaded());
    run(skeleton.programs.run.loaded());

    let mut seen = Vec::new();
    let mut reader = skeleton
        .maps
        .events
        .reader(|event| match event {
            EventsEvent::Started(started) => seen.push(format!("{} {}", started.pid, CText(&started.name))),
            EventsEvent::Ended(ended) => seen.push(format!("{} {}", ended.status, ended.duration_ns)),
        })
        .unwrap();
    let error = reader.poll(PATIENCE).unwrap_err();
    assert!(matches!(error, EventError::Record { len: 1, .. }), "{error}");
    assert_eq!(reader.consume().unwrap().records, 2, "the reader continues after the short record");
    drop(reader);
    assert_eq!(seen, ["77 skeleton", "-1 7", "77 skeleton", "-1 7"]);

    let mut texts = Vec::new();
    let mut messages = skeleton
        .maps
        .messages
        .reader_with_bytes(|message, record| {
            texts.push(record[4..].iter().take(message.length as usize).copied().collect::<Vec<_>>());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(messages.consume().unwrap().records, 2);
    drop(messages);
    assert_eq!(texts, [b"hi", b"hi"]);
}

#[test]
fn programs_attach_by_their_own_methods() {
    let Some(_live) = live("skeletons::programs_attach_by_their_own_methods", &[Need::Tracefs]) else {
        return;
    };
    let mut open = Skeleton::open().unwrap();
    open.globals.only_pid.set(process::id());
    let skeleton = open.load().unwrap();
    assert!(skeleton.programs.on_getppid.is_none(), "its section begins with `?`");
    let hits_of_getpid = || {
        let before = skeleton.globals.hits.get().unwrap();
        assert!(rustix::process::getpid().as_raw_pid() > 0);
        skeleton.globals.hits.get().unwrap() - before
    };
    assert_eq!(hits_of_getpid(), 0);
    let link = skeleton.programs.on_getpid.attach().unwrap();
    let anywhere = skeleton.programs.anywhere.program_ref().unwrap();
    let also = anywhere.attach_tracepoint("syscalls", "sys_enter_getpid", &Default::default()).unwrap();
    assert_eq!(hits_of_getpid(), 2);
    drop((link, also));
    assert_eq!(hits_of_getpid(), 0);

    open.programs.on_getppid.autoload = Some(true);
    let selected = open.load().unwrap();
    let link = selected.programs.on_getppid.as_ref().unwrap().attach().unwrap();
    assert!(rustix::process::getppid().is_some());
    assert_eq!(selected.globals.hits.get().unwrap(), 1);
    drop(link);
}

core_relo_loader::pod! {
    /// `struct flow` with its members swapped.
    #[derive(Debug)]
    struct Swapped { port: u16, pad: u16, address: u32 }
    #[derive(Debug)]
    struct Fitting { address: u32, port: u16, pad: [u8; 2] }
}

#[test]
fn a_key_or_value_of_another_layout_is_refused() {
    let Some(_live) = live("skeletons::a_key_or_value_of_another_layout_is_refused", &[]) else { return };
    let skeleton = Skeleton::open().unwrap().load().unwrap();
    let loaded = skeleton.loaded();
    let error = loaded.hash_map::<Swapped, [u64; 2]>("flows").unwrap_err();
    assert!(matches!(error, MapError::Layout { part: "key", .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "map flows: the key is no `live::live::skeletons::Swapped`: `struct flow` has no fitting member for `port`, \
         2 bytes at offset 0; `Loaded::map_handle` opens the map without this check"
    );
    let error = loaded.hash_map::<Fitting, [f32; 4]>("flows").err().map(|error| error.to_string());
    assert_eq!(error, None, "an array stands for a struct");
    let error = loaded.hash_map::<Fitting, f64>("flows").unwrap_err().to_string();
    assert!(error.contains("wrong value size"), "{error}");
    assert!(loaded.array::<u64>("copies").is_err());
    assert!(loaded.hash_map::<Fitting, [u8; 16]>("flows").is_ok());
    assert!(
        HashMap::<Swapped, [u64; 2]>::new(loaded.map_handle("flows").unwrap()).is_ok(),
        "the check is skipped"
    );
}

/// An agent as users write it: the skeleton and the links in a struct without lifetime, used by several
/// threads.
struct Agent {
    skeleton: Skeleton,
}

#[test]
fn a_loaded_skeleton_moves_between_threads_and_its_parts_keep_it_loaded() {
    let test = "skeletons::a_loaded_skeleton_moves_between_threads_and_its_parts_keep_it_loaded";
    let Some(_live) = live(test, &[]) else { return };
    let agent = Agent { skeleton: open().load().unwrap() };
    let agent = thread::spawn(move || {
        run(agent.skeleton.programs.run.loaded());
        agent
    })
    .join()
    .unwrap();
    let (total, program) = (agent.skeleton.globals.total.clone(), agent.skeleton.programs.run.clone());
    drop(agent);
    run(program.loaded());
    assert_eq!(total.get().unwrap(), 102);
    assert!(program.loaded().unwrap().as_fd().try_clone_to_owned().is_ok());
}

#[test]
fn a_map_that_is_too_small_for_its_type_is_refused_when_the_skeleton_is_made() {
    let test = "skeletons::a_map_that_is_too_small_for_its_type_is_refused_when_the_skeleton_is_made";
    let Some(_live) = live(test, &[]) else { return };
    let mut open = Skeleton::open().unwrap();
    open.maps.untyped.value_size = Some(16);
    let error = open.load().unwrap_err().to_string();
    assert_eq!(error, "skeleton: map untyped: wrong value size: 16 bytes, expected 8");
}

#[test]
fn variables_in_an_arena_are_fields() {
    let needs = [Need::Arena, Need::MemoryAnywhere];
    let Some(_live) = live("skeletons::variables_in_an_arena_are_fields", &needs) else { return };
    let mut open = ArenaGlobals::open().unwrap();
    open.globals.config.ports[1].high = 9;
    open.globals.step.set(5u64);
    let skeleton = open.load().unwrap();
    let mut options = TestRun::default();
    assert_eq!(inventory::test_run(skeleton.programs.add.loaded().unwrap(), &mut options).unwrap().retval, 0);
    assert_eq!((skeleton.globals.sum.get().unwrap(), skeleton.globals.high.get().unwrap()), (5, 9));
    assert!(skeleton.maps.arena.memory().is_ok());
}
