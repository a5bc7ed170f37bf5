//! Loader programs: the kernel holds the same maps and programs as after a load without loader program, and
//! nothing after a failure.

use super::harness::{Census, Need, live, names, object, with_invalid_insn};
use core_relo::{Endian, insn::Insn};
use core_relo_loader::{
    Loader, Pod as _,
    inventory::{self, MapInfo, ProgramInfo, ProgramLines},
    load::{LoadError, Loaded, execute_loader_program},
    load_plan::{LateBinding, TargetKernel},
    loader_program::{LoaderFile, LoaderOptions, context::map_fd_offset},
    maps::MapShape,
    object::Object,
    running_kernel,
};
use core_relo_test_support::skip;
use core_relo_tests::{artifacts, kernel_crashes};
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::Read as _,
    os::fd::AsRawFd as _,
    path::PathBuf,
    process::Command,
};

/// Parts of a plan that a loader program leaves to the kernel.
const LATE: [LateBinding; 2] = [LateBinding::Names, LateBinding::NamesAndRelocations];

/// Generates a loader program for an object, as the command does.
fn generate(bytes: &[u8], name: &str, late: LateBinding, checks_data: bool) -> Result<LoaderFile, String> {
    let object = Object::parse(bytes).map_err(|e| e.to_string())?;
    let kernel = match late {
        LateBinding::NamesAndRelocations => {
            let mut kernel = TargetKernel::unknown();
            kernel.page_size = running_kernel().page_size;
            kernel
        }
        _ => {
            let mut kernel = running_kernel();
            kernel.late_binding = late;
            kernel
        }
    };
    let plan = Loader::for_kernel(&object, kernel).name(name).plan().map_err(|e| e.to_string())?;
    let options = LoaderOptions { checks_data, relocated_for: String::new() };
    LoaderFile::generate(&plan, &options).map_err(|e| e.to_string())
}

/// The state of a loaded object in the kernel, without ids.
#[derive(Debug, PartialEq, Eq)]
struct Holdings {
    maps: Vec<String>,
    programs: Vec<String>,
}

impl Holdings {
    fn read(loaded: &Loaded) -> Self {
        let mut ids = HashMap::new();
        let mut maps = Vec::new();
        for map in loaded.maps() {
            let Some(fd) = map.fd() else { continue };
            let info = MapInfo::query(&fd).unwrap();
            ids.insert(info.id, map.name().to_owned());
            let mut value = Vec::new();
            if map.plan.role().is_data() {
                let shape = MapShape::query(&fd).unwrap();
                value = vec![0; shape.value_size()];
                shape.lookup(0_u32.as_bytes(), &mut value, 0).unwrap();
            }
            maps.push(format!(
                "{}: {} type {} key {} value {} entries {} flags {:#x} extra {} types {} {} of {} at {}: {value:?}",
                map.name(),
                info.name(),
                info.map_type,
                info.key_size,
                info.value_size,
                info.max_entries,
                info.map_flags,
                info.map_extra,
                info.btf_key_type_id,
                info.btf_value_type_id,
                if info.btf_id == 0 { "nothing" } else { "BTF" },
                info.ifindex,
            ));
        }
        let programs = loaded.programs().iter().map(|program| describe_program(program, &ids)).collect();
        Self { maps, programs }
    }
}

fn describe_program(program: &core_relo_loader::load::LoadedProgram, maps: &HashMap<u32, String>) -> String {
    let info = ProgramInfo::query(program).unwrap();
    let mut insns = inventory::translated_code(program).unwrap();
    let mut used = BTreeMap::new();
    // The immediate of a load of a map is the map's id.
    let mut at = 0;
    while at < insns.len() {
        let insn = Insn::decode(Endian::native(), insns[at..at + 8].try_into().unwrap());
        let is_wide = insn.code == 0x18;
        if is_wide && matches!(insn.src, 1 | 2) {
            let id = u32::from_ne_bytes(insns[at + 4..at + 8].try_into().unwrap());
            used.insert(at, maps.get(&id).cloned());
            insns[at + 4..at + 8].fill(0);
        } else if is_wide && is_heap_address(&insns[at + 12..at + 16]) {
            insns[at + 4..at + 8].fill(0);
            insns[at + 12..at + 16].fill(0);
        }
        at += if is_wide { 16 } else { 8 };
    }
    let lines = ProgramLines::query(program).unwrap();
    format!(
        "{}: {} type {} tag {:x?} verified {} maps {} attach {} functions {:?} lines {} uses {used:?}: {insns:x?}",
        program.name(),
        info.name(),
        info.prog_type,
        info.tag,
        info.verified_insns,
        info.nr_map_ids,
        info.attach_btf_id,
        lines.functions.len(),
        lines.lines.len(),
    )
}

/// Returns whether the upper half of an address is that of memory which the verifier refers to, such as the
/// program itself.
fn is_heap_address(high: &[u8]) -> bool {
    let high = u32::from_ne_bytes(high.try_into().unwrap());
    let linear =
        if cfg!(target_arch = "powerpc64") { 0xc000_0000..0xc010_0000 } else { 0xff00_0000..0xffff_ffff };
    linear.contains(&high)
}

/// A kfunc of `live/stream` that kernels from 7.0 have under another name.
const REPLACED_KFUNC: &str = "bpf_stream_vprintk_impl";

/// Returns the objects of `kernel/` and `live/` in the machine's byte order, each with its name.
fn objects() -> Vec<(String, Vec<u8>)> {
    let order = if cfg!(target_endian = "little") { "el" } else { "eb" };
    let dir = artifacts::root().join("bpf-progs/prebuilt").join(order).join("kernel");
    let is_safe = |path: &PathBuf| kernel_crashes::on_running_kernel(path, None).is_none();
    let mut found: Vec<_> = artifacts::files(&dir, ".bpf.o")
        .into_iter()
        .filter(is_safe)
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().replace(".bpf.o", ""), fs::read(&path).unwrap())
        })
        .collect();
    found.extend(names().into_iter().map(|name| (name.clone(), object(&name))));
    found
}

#[test]
fn the_kernel_holds_the_same_as_after_a_load_without_loader_program() {
    const NAME: &str = "loader_programs::the_kernel_holds_the_same_as_after_a_load_without_loader_program";
    let Some(_live) = live(NAME, &[Need::Kernel(5, 18)]) else { return };
    let (mut same, mut refused, mut unsupported, mut different) = (0, 0, BTreeMap::new(), Vec::new());
    for (name, bytes) in objects() {
        let object = Object::parse(&bytes).unwrap();
        let mut files = Vec::new();
        for late in LATE {
            match generate(&bytes, &name, late, false) {
                Ok(file) => files.push((late, file)),
                Err(reason) => drop(unsupported.insert(format!("{name} ({late:?})"), reason)),
            }
        }
        // A load of the others would leave pins.
        if files.is_empty() {
            continue;
        }
        let expected = Loader::new(&object).name(&*name).load();
        for (late, file) in files {
            let file = LoaderFile::read(&file.write().unwrap()).unwrap();
            match (&expected, execute_loader_program(&file)) {
                (Ok(expected), Ok(loaded)) => {
                    let (expected, found) = (Holdings::read(expected), Holdings::read(&loaded));
                    if expected == found {
                        same += 1;
                    } else {
                        different.push(format!("{name} ({late:?}):\n{expected:#?}\n{found:#?}"));
                    }
                }
                // Without loader program, a missing attach target is an error of the plan.
                (Err(expected), Err(found)) if expected.errno().is_none_or(|e| Some(e) == found.errno()) => {
                    // Each error names the same program or map.
                    println!("refused by both: {name}: {}", found.to_string().lines().next().unwrap());
                    refused += 1;
                }
                // Linux 7.0 replaced this kfunc. Only a plan for one kernel calls the replacement.
                (_, Err(error))
                    if late == LateBinding::NamesAndRelocations
                        && error.to_string().contains(REPLACED_KFUNC) =>
                {
                    println!("replaced kfunc: {name}: {error}");
                }
                (_, Err(error)) => different.push(format!("{name} ({late:?}): {error}")),
                (Err(error), Ok(_)) => different.push(format!("{name} ({late:?}): loads, unlike {error}")),
            }
        }
    }
    println!("{same} loads are the same, {refused} are refused by both");
    unsupported.iter().for_each(|(name, reason)| println!("no loader program: {name}: {reason}"));
    different.iter().for_each(|text| println!("{text}"));
    assert!(different.is_empty(), "{} differ", different.len());
}

#[test]
fn a_program_that_checks_its_data_loads_the_same_and_refuses_other_data() {
    const NAME: &str =
        "loader_programs::a_program_that_checks_its_data_loads_the_same_and_refuses_other_data";
    let Some(_live) = live(NAME, &[Need::Kernel(6, 18)]) else { return };
    for name in ["maps", "tail_call", "ksym", "core", "fentry", "map_in_map", "perf_array"] {
        let bytes = object(name);
        let object = Object::parse(&bytes).unwrap();
        let expected = Loader::new(&object).name(name).load();
        for late in LATE {
            let file = generate(&bytes, name, late, true).unwrap();
            match (&expected, execute_loader_program(&file)) {
                (Ok(expected), Ok(loaded)) => {
                    assert_eq!(Holdings::read(expected), Holdings::read(&loaded), "{name}")
                }
                (Err(expected), Err(found)) if expected.errno() == found.errno() => {
                    println!("{name}: refused by both: {found}");
                }
                (expected, found) => panic!("{name}: {expected:?} {found:?}"),
            }
            let mut bytes = file.write().unwrap();
            // The last byte of the data is part of the last item.
            let last = bytes.len() - 9;
            bytes[last] ^= 1;
            let changed = LoaderFile::read(&bytes).unwrap();
            assert_ne!(changed.data(), file.data());
            let before = Census::take();
            let error = execute_loader_program(&changed).unwrap_err().to_string();
            assert_eq!(before.left_behind(), [""; 0]);
            assert!(error.contains("the data of the loader program has a wrong hash: EINVAL"), "{error}");
        }
    }
}

#[test]
fn a_refused_program_leaves_nothing_and_the_error_has_the_verifiers_log() {
    const NAME: &str =
        "loader_programs::a_refused_program_leaves_nothing_and_the_error_has_the_verifiers_log";
    let Some(_live) = live(NAME, &[Need::Kernel(5, 14)]) else { return };
    let bytes = with_invalid_insn(object("socket_filter"), "filter");
    let file = generate(&bytes, "refused", LateBinding::Names, false).unwrap();
    let before = Census::take();
    let error = execute_loader_program(&file).unwrap_err();
    assert_eq!(before.left_behind(), [""; 0]);
    let LoadError::Program { refused, .. } = error else { panic!("{error}") };
    println!("{refused}");
    assert!(!refused.log.is_empty());
}

#[test]
fn libbpfs_runtime_for_light_skeletons_executes_the_programs() {
    const NAME: &str = "loader_programs::libbpfs_runtime_for_light_skeletons_executes_the_programs";
    let Some(_live) = live(NAME, &[Need::Kernel(5, 18)]) else { return };
    let dir = std::env::temp_dir().join(format!("core-relo-loader-{}", std::process::id()));
    fs::create_dir(&dir).unwrap();
    let source = artifacts::root().join("tests/tests/live/loader_run.c");
    let runner = dir.join("loader_run");
    let compiled = Command::new("cc").args(["-w", "-o"]).arg(&runner).arg(&source).output();
    if !compiled.as_ref().is_ok_and(|output| output.status.success()) {
        skip(NAME, "cc and libbpf's headers (bpf/skel_internal.h) are needed");
        return fs::remove_dir_all(&dir).unwrap();
    }
    for name in ["maps", "map_in_map", "tail_call", "core", "globals"] {
        let file = generate(&object(name), name, LateBinding::NamesAndRelocations, false).unwrap();
        let (insns, data) = (dir.join("insns"), dir.join("data"));
        fs::write(&insns, file.instructions()).unwrap();
        fs::write(&data, file.data()).unwrap();
        let counts = [file.maps().len(), file.programs().len()];
        let output =
            Command::new(&runner).arg(&insns).arg(&data).args(counts.map(|n| n.to_string())).output();
        let out = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
        assert_eq!(out.trim(), counts.iter().sum::<usize>().to_string(), "{name}");
    }
    fs::remove_dir_all(&dir).unwrap();
}

/// `BPF_FUNC_sys_close`.
const SYS_CLOSE: i32 = 168;

/// Returns a loader file with other instructions, as a hostile author could write one.
fn with_instructions(file: &LoaderFile, insns: &[Insn]) -> LoaderFile {
    let (endian, bytes) = (Endian::native(), file.write().unwrap());
    let at = bytes.windows(file.instructions().len()).position(|window| window == file.instructions());
    let (before, rest) = bytes.split_at(at.unwrap());
    let mut forged = before[..before.len() - 4].to_vec();
    let insns: Vec<u8> = insns.iter().flat_map(|insn| insn.encode(endian)).collect();
    endian.put_u32(&mut forged, insns.len().try_into().unwrap());
    forged.extend(insns);
    forged.extend_from_slice(&rest[file.instructions().len()..]);
    LoaderFile::read(&forged).unwrap()
}

/// Returns a loader program that closes descriptors 0 to 63, stores a number as its first descriptor, and
/// returns a result.
fn closes_descriptors(file: &LoaderFile, returned: i32, result: i32) -> LoaderFile {
    let insn = |code, dst, src, off, imm| Insn { code, dst, src, off, imm };
    let mut insns = vec![insn(0xbf, 6, 1, 0, 0)];
    for fd in 0..64 {
        insns.extend([insn(0xb7, 1, 0, 0, fd), insn(0x85, 0, 0, 0, SYS_CLOSE)]);
    }
    let place = map_fd_offset(0).unwrap().try_into().unwrap();
    // Before Linux 6.4, the verifier accepted no store of a constant into the context.
    insns.extend([insn(0xb7, 1, 0, 0, returned), insn(0x63, 6, 1, place, 0)]);
    insns.extend([insn(0xb7, 0, 0, 0, result), insn(0x95, 0, 0, 0, 0)]);
    with_instructions(file, &insns)
}

#[test]
fn a_hostile_program_closes_no_descriptor_of_the_process() {
    const NAME: &str = "loader_programs::a_hostile_program_closes_no_descriptor_of_the_process";
    let Some(_live) = live(NAME, &[Need::Kernel(5, 14)]) else { return };
    let files: Vec<_> = (0..64).map(|_| fs::File::open("/dev/zero").unwrap()).collect();
    assert!(files[0].as_raw_fd() < 64, "one of the descriptors is in the range");
    let file = generate(&object("syscall"), "hostile", LateBinding::Names, false).unwrap();
    for (returned, result) in [(-1, -1), (0, 0), (1, 0), (files[0].as_raw_fd(), 0), (10_000, 0), (-1, 0)] {
        let before = Census::take();
        let error = execute_loader_program(&closes_descriptors(&file, returned, result)).unwrap_err();
        println!("descriptor {returned}, result {result}: {error}");
        assert_eq!(before.left_behind(), [""; 0]);
        if result == 0 {
            assert!(error.to_string().contains(&format!("passing descriptor {returned} of")), "{error}");
        }
    }
    // No descriptor of the files was closed, nor replaced.
    for mut file in files {
        file.read_exact(&mut [1]).unwrap();
    }
}

#[test]
fn maps_other_than_those_that_the_file_describes_are_refused() {
    const NAME: &str = "loader_programs::maps_other_than_those_that_the_file_describes_are_refused";
    let Some(_live) = live(NAME, &[Need::Kernel(5, 14)]) else { return };
    let file = generate(&object("socket_filter"), "maps", LateBinding::Names, false).unwrap();
    drop(execute_loader_program(&file).unwrap());
    let attributes = file.maps()[0].attributes;
    let words = [attributes.map_type, attributes.key_size, attributes.value_size, attributes.max_entries];
    let endian = Endian::native();
    let described = words.map(|word| endian.u32_bytes(word)).concat();
    let bytes = file.write().unwrap();
    // The description is the first section.
    let at = bytes.windows(described.len()).position(|window| window == described).unwrap();
    for (word, other) in words.into_iter().enumerate() {
        let mut forged = bytes.clone();
        forged[at + 4 * word..][..4].copy_from_slice(&endian.u32_bytes(other + 1));
        let before = Census::take();
        let error = execute_loader_program(&LoaderFile::read(&forged).unwrap()).unwrap_err().to_string();
        assert!(error.contains("the loader program returned another object"), "{error}");
        assert_eq!(before.left_behind(), [""; 0]);
    }
}

#[test]
fn a_ring_buffer_for_smaller_pages_is_refused_with_the_option_for_the_size() {
    const NAME: &str =
        "loader_programs::a_ring_buffer_for_smaller_pages_is_refused_with_the_option_for_the_size";
    let Some(_live) = live(NAME, &[Need::Kernel(5, 14)]) else { return };
    let bytes = object("ringbuf");
    let object = Object::parse(&bytes).unwrap();
    let mut kernel = running_kernel();
    (kernel.late_binding, kernel.page_size) = (LateBinding::Names, 512);
    let mut loader = Loader::for_kernel(&object, kernel).name("ring");
    loader.map_mut("events").max_entries = Some(1000);
    let plan = loader.plan().unwrap();
    let options = LoaderOptions { checks_data: false, relocated_for: String::new() };
    let file = LoaderFile::generate(&plan, &options).unwrap();
    let before = Census::take();
    let error = execute_loader_program(&file).unwrap_err().to_string();
    assert!(error.contains("events") && error.contains("generate it with --page-size"), "{error}");
    assert_eq!(before.left_behind(), [""; 0]);
}
