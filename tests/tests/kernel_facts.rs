//! Facts about real kernels: what their BTF answers is what their releases and configurations offer.

use core_relo::insn::Helper;
use core_relo::{
    Target,
    btf::{Btf, Kind, NameIndex, Type, TypeQuery},
};
use core_relo_loader::target::BtfFile;
use core_relo_test_support::skip;
use core_relo_tests::artifacts;
use core_relo_verdict::kernel::{
    Answer, InsnFeature, KconfigAnswer, KernelFacts, KernelInputs, KernelName, KernelVersion, NameQuery,
    StructOpsName, SymbolName,
};
use std::{env, path::Path, sync::Arc};

/// A kernel whose configuration is Debian's.
struct Kernel {
    file: &'static str,
    release: (u8, u8),
    /// The number of helpers, without `BPF_FUNC_unspec`.
    helper_count: u32,
    last_map_type: u32,
    last_program_type: u32,
    /// Whether `CONFIG_BPF_JIT` and with it LSM, struct_ops and trampolines are compiled.
    has_jit: bool,
}

const fn kernel(
    file: &'static str,
    release: (u8, u8),
    [helper_count, last_map_type, last_program_type]: [u32; 3],
    has_jit: bool,
) -> Kernel {
    Kernel { file, release, helper_count, last_map_type, last_program_type, has_jit }
}

const KERNELS: [Kernel; 5] = [
    kernel("amd64-5.10.223-cloud.btf", (5, 10), [155, 28, 30], true),
    kernel("amd64-6.1.176-cloud.btf", (6, 1), [209, 31, 31], true),
    kernel("amd64-6.12.107-cloud.btf", (6, 12), [211, 33, 32], true),
    kernel("s390x-6.12.107-generic.btf", (6, 12), [211, 33, 32], false),
    kernel("amd64-7.2.13-cloud.btf", (7, 2), [211, 35, 32], true),
];

/// The release that added each set of instructions.
const RELEASES: [(InsnFeature, (u8, u8)); 24] = [
    (InsnFeature::Alu32, (3, 18)),
    (InsnFeature::FunctionCall, (4, 16)),
    (InsnFeature::Jmp32, (5, 1)),
    (InsnFeature::MapValueAddress, (5, 2)),
    (InsnFeature::BackwardJump, (5, 3)),
    (InsnFeature::GlobalFunction, (5, 6)),
    (InsnFeature::KernelVariableAddress, (5, 10)),
    (InsnFeature::TailCallWithFunctions, (5, 10)),
    (InsnFeature::Atomics, (5, 12)),
    (InsnFeature::FunctionAddress, (5, 13)),
    (InsnFeature::KfuncCall, (5, 13)),
    (InsnFeature::MapIndex, (5, 14)),
    (InsnFeature::ModuleKfuncCall, (5, 16)),
    (InsnFeature::KernelFunctionAddress, (6, 4)),
    (InsnFeature::LoadSignExtended, (6, 6)),
    (InsnFeature::MoveSignExtended, (6, 6)),
    (InsnFeature::ByteSwap, (6, 6)),
    (InsnFeature::SignedDivision, (6, 6)),
    (InsnFeature::LongJump, (6, 6)),
    (InsnFeature::MayGoto, (6, 9)),
    (InsnFeature::AddressSpaceCast, (6, 9)),
    (InsnFeature::LoadAcquireStoreRelease, (6, 15)),
    (InsnFeature::IndirectJump, (6, 19)),
    (InsnFeature::StackArguments, (7, 2)),
];

/// The sets that only compiled programs may have.
const NEED_JIT: [InsnFeature; 7] = [
    InsnFeature::TailCallWithFunctions,
    InsnFeature::FunctionAddress,
    InsnFeature::KfuncCall,
    InsnFeature::ModuleKfuncCall,
    InsnFeature::AddressSpaceCast,
    InsnFeature::IndirectJump,
    InsnFeature::StackArguments,
];

const OVERRIDE_RETURN: u32 = 58;
const PROBE_READ: [u32; 2] = [4, 45];
const INODE_STORAGE_HELPERS: [u32; 2] = [145, 146];

const CGRP_STORAGE: u32 = 32;
const STRUCT_OPS: u32 = 26;
const INODE_STORAGE: u32 = 28;
const ARENA: u32 = 33;

fn read(path: &Path) -> Arc<Btf<'static>> {
    Arc::new(BtfFile::read(path).unwrap().parse_unvalidated(None).unwrap())
}

/// Asserts that an answer is definite and as expected.
fn check(what: &str, answer: &Answer, expected: bool) {
    match answer {
        Answer::Present(evidence) => assert!(expected, "{what}: {evidence:?}"),
        Answer::Absent(evidence) => assert!(!expected, "{what}: {evidence:?}"),
        Answer::Unknown(question) => panic!("{what}: unknown: {question}"),
    }
}

/// Checks what follows from the release, and from the JIT compiler.
fn check_release(name: &str, facts: &KernelFacts<'_>, names: &Names, release: (u8, u8), has_jit: bool) {
    for (set, since) in RELEASES {
        // Updates of 6.1 have long jumps.
        if set == InsnFeature::LongJump && release == (6, 1) {
            assert!(!matches!(facts.instruction_set(set), Answer::Absent(_)), "{name}: gotol");
            continue;
        }
        let expected = release >= since && (has_jit || !NEED_JIT.contains(&set));
        check(&format!("{name}: {}", set.name()), &facts.instruction_set(set), expected);
    }
    assert_eq!(RELEASES.len(), InsnFeature::ALL.len(), "every set is checked");
    check(name, &facts.sleepable_programs(), true);
    check(name, &facts.verifies_uncalled_functions(), release < (6, 8));
    let cookie = facts.kconfig("LINUX_HAS_BPF_COOKIE");
    let expected = if release >= (5, 15) { "1" } else { "0" };
    assert!(matches!(cookie, KconfigAnswer::Value(value, _) if value == expected), "{name}");
    // A load finds the wrappers by kprobes. Kernels of Debian have them.
    let has_kprobes = name != "running kernel" || Path::new("/sys/bus/event_source/devices/kprobe").exists();
    let wrapper = facts.kconfig("LINUX_HAS_SYSCALL_WRAPPER");
    let expected = if has_kprobes { "1" } else { "0" };
    assert!(matches!(wrapper, KconfigAnswer::Value(value, _) if value == expected), "{name}");
    for (what, answer) in [
        ("tp_btf", facts.declaration(&names.tracepoint, None)),
        ("iter", facts.declaration(&names.iterator, None)),
        ("fentry", facts.declaration(&names.fget, None)),
        ("symbol", facts.symbol(&names.symbol)),
        ("struct", facts.declaration(&names.event, None)),
    ] {
        check(&format!("{name}: {what}"), &answer, true);
    }
    check(name, &facts.declaration(&names.missing, None), false);
}

/// The names that the tests look up.
struct Names {
    tracepoint: KernelName,
    iterator: KernelName,
    fget: KernelName,
    symbol: SymbolName,
    event: KernelName,
    struct_ops: StructOpsName,
    lsm_hook: KernelName,
    kfunc: KernelName,
    in_module: KernelName,
    missing: KernelName,
}

impl Names {
    fn new(query: &mut NameQuery) -> Self {
        Self {
            tracepoint: query.declaration(b"btf_trace_sched_switch", Kind::Typedef),
            iterator: query.declaration(b"bpf_iter_task", Kind::Func),
            fget: query.declaration(b"fget", Kind::Func),
            symbol: query.symbol(b"fget"),
            event: query.declaration(b"trace_event_raw_sched_switch", Kind::Struct),
            struct_ops: query.struct_ops(b"tcp_congestion_ops"),
            lsm_hook: query.declaration(b"bpf_lsm_file_open", Kind::Func),
            kfunc: query.declaration(b"bpf_rdonly_cast", Kind::Func),
            in_module: query.declaration(b"nf_ct_get_tuple", Kind::Func),
            missing: query.declaration(b"no_such_function", Kind::Func),
        }
    }
}

#[test]
fn kernels_offer_what_their_release_and_configuration_offer() {
    let folder = artifacts::kernels();
    if env::var_os("CORE_RELO_KERNELS").is_none() && !folder.is_dir() {
        return skip!(Kernels, "no kernel BTF: set CORE_RELO_KERNELS or run `cargo xtask kernels`");
    }
    let mut query = NameQuery::default();
    let names = Names::new(&mut query);
    for kernel in KERNELS {
        let path = folder.join(kernel.file);
        if !path.exists() {
            skip("kernel_facts", &format!("no {}", path.display()));
            continue;
        }
        let (major, minor) = kernel.release;
        let version = KernelVersion::release(major, minor);
        let target = Target::new("vmlinux", read(&path));
        let inputs = KernelInputs::default();
        let facts = KernelFacts::new(&target, &query, &inputs);
        let name = kernel.file;
        for fact in facts.list() {
            println!("{name}: {} {}: {:?}", fact.kind, fact.subject, fact.answer);
        }
        check_release(name, &facts, &names, kernel.release, kernel.has_jit);
        for number in 1..=213 {
            let what = format!("{name}: helper {number}");
            // Debian leaves out CONFIG_BPF_KPROBE_OVERRIDE. The BTF of 5.10 does not describe the file of the
            // helper.
            if number == OVERRIDE_RETURN && kernel.release < (6, 1) {
                assert!(matches!(facts.helper(Helper(number)), Answer::Unknown(_)), "{what}");
                continue;
            }
            // On s390x, addresses of user space and of the kernel overlap.
            let is_s390x = name.starts_with("s390x");
            let is_left_out = number == OVERRIDE_RETURN
                || (is_s390x && PROBE_READ.contains(&number))
                || (!kernel.has_jit && INODE_STORAGE_HELPERS.contains(&number));
            check(&what, &facts.helper(Helper(number)), number <= kernel.helper_count && !is_left_out);
        }
        for number in 1..=36 {
            let needs_jit = number == STRUCT_OPS || number == INODE_STORAGE;
            let expected = number <= kernel.last_map_type && (kernel.has_jit || !needs_jit);
            check(&format!("{name}: map type {number}"), &facts.map_type(number), expected);
        }
        for number in 1..=33 {
            // LIRC_MODE2 needs infrared receivers. STRUCT_OPS, EXT and LSM need CONFIG_BPF_JIT.
            let is_compiled = number != 20 && (kernel.has_jit || !(27..=29).contains(&number));
            let expected = number <= kernel.last_program_type && is_compiled;
            check(&format!("{name}: program type {number}"), &facts.program_type(number), expected);
        }
        check(name, &facts.trampolines(), kernel.has_jit);
        check(name, &facts.module_btf(), kernel.release >= (5, 11));
        check(name, &facts.declaration(&names.lsm_hook, None), kernel.has_jit);
        check(name, &facts.struct_ops(&names.struct_ops), kernel.has_jit);
        check(name, &facts.kfunc(&names.kfunc), kernel.release >= (6, 2));
        let has_tags = kernel.release >= (6, 12);
        match has_tags {
            true => check(name, &facts.kfunc(&names.fget), false),
            false => assert!(matches!(facts.kfunc(&names.fget), Answer::Unknown(_)), "{name}"),
        }

        let inputs = KernelInputs { version: Some(version), ..KernelInputs::default() };
        assert_eq!(KernelFacts::new(&target, &query, &inputs).contradictions(), [""; 0], "{name}");
        let wrong = KernelInputs { version: Some(KernelVersion::release(5, 4)), ..KernelInputs::default() };
        let contradictions = KernelFacts::new(&target, &query, &wrong).contradictions();
        assert_eq!(contradictions.len(), 1, "{name}: {contradictions:?}");
        check_modules(&path, &target, &query, &names);
    }
}

/// Functions of modules are found in the modules.
fn check_modules(path: &Path, target: &Target<'static>, query: &NameQuery, names: &Names) {
    let kernel = &target.vmlinux().btf;
    let modules: Vec<_> = artifacts::module_btfs(path)
        .iter()
        .map(|module| {
            let btf = BtfFile::read(module).unwrap().parse_unvalidated(Some(kernel)).unwrap();
            (module.file_stem().unwrap().to_string_lossy().into_owned(), Arc::new(btf))
        })
        .collect();
    if modules.is_empty() {
        return;
    }
    let target = target.clone().with_modules(modules);
    let inputs = KernelInputs::default();
    let facts = KernelFacts::new(&target, query, &inputs);
    let place = path.display().to_string();
    check(&place, &facts.declaration(&names.in_module, None), true);
    check(&place, &facts.declaration(&names.in_module, Some("nf_conntrack")), true);
    check(&place, &facts.declaration(&names.in_module, Some("xfs")), false);
    check(&place, &facts.declaration(&names.in_module, Some("vmlinux")), false);
    assert!(matches!(facts.declaration(&names.fget, Some("ext4")), Answer::Unknown(_)), "{place}");
}

/// One pass finds the types that an index finds, in sorted and unsorted BTF.
#[test]
fn one_pass_finds_the_types_that_an_index_finds() {
    let paths: Vec<_> = artifacts::kernel_btfs().into_iter().chain(artifacts::running_kernel()).collect();
    if paths.is_empty() {
        return skip!(Kernels, "neither the running kernel nor target/kernels has BTF");
    }
    for path in paths {
        let btf = read(&path);
        let mut query = TypeQuery::new();
        for ty in btf.types().step_by(13) {
            for kind in [Kind::Func, Kind::Struct, Kind::Typedef, Kind::Enum] {
                query.insert(ty.name().as_bytes(), kind);
            }
        }
        let index = NameIndex::new(&btf);
        for ((name, kind), found) in query.pairs().zip(btf.find_all_own(&query)) {
            let expected = index.find(&btf, name, kind).map(Type::id);
            assert_eq!(found, expected, "{}: {kind} {}", path.display(), name.escape_ascii());
        }
    }
}

/// The running kernel, whose configuration is not known.
#[test]
fn the_running_kernel_offers_what_its_release_offers() {
    let path = artifacts::running_kernel();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (Some(path), Ok(version)) = (path, release.trim().parse::<KernelVersion>()) else {
        return skip!(Btf, "the running kernel exposes no BTF");
    };
    let mut query = NameQuery::default();
    let names = Names::new(&mut query);
    let inputs = KernelInputs { version: Some(version), ..KernelInputs::default() };
    let target = Target::new("vmlinux", read(&path));
    let facts = KernelFacts::new(&target, &query, &inputs);
    for fact in facts.list() {
        println!("{} {}: {:?}", fact.kind, fact.subject, fact.answer);
    }
    if version >= KernelVersion::release(5, 10) && facts.contradictions().is_empty() {
        check_release("running kernel", &facts, &names, (version.major, version.minor), true);
        check("array", &facts.map_type(2), true);
        check("arena", &facts.map_type(ARENA), version >= KernelVersion::release(6, 9));
        check("cgrp_storage", &facts.map_type(CGRP_STORAGE), version >= KernelVersion::release(6, 2));
    }
}
