//! Verdicts on objects that clang compiled, on the BTF of real kernels.

use core_relo::{Plan, Target};
use core_relo_loader::target::BtfFile;
use core_relo_object::object::Object;
use core_relo_test_support::skip;
use core_relo_tests::artifacts;
use core_relo_verdict::{
    judge::{KernelAnswers, ObjectVerdict, Reason, ReasonKind, Verdict, judge},
    kernel::{KernelInputs, KernelVersion},
    requirements::{NeedTable, ObjectNeeds},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The releases of the kernels, whose BTF files are named after them.
const RELEASES: [&str; 4] = ["5.10", "6.1", "6.12", "7.2"];

/// The real kernels of amd64, in the order of [`RELEASES`]. `None` if one is missing.
fn kernels() -> Option<Vec<Target<'static>>> {
    let files = artifacts::kernel_btfs();
    let read = |release: &&str| {
        let prefix = format!("amd64-{release}.");
        let is_release = |path: &&PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
        };
        let path = files.iter().find(is_release)?;
        let btf = BtfFile::read(path).unwrap().parse_unvalidated(None).unwrap();
        Some(Target::new(*release, Arc::new(btf)))
    };
    RELEASES.iter().map(read).collect()
}

/// Returns a committed object.
fn prebuilt(name: &str) -> PathBuf {
    artifacts::root().join("bpf-progs/prebuilt/el").join(format!("{name}.bpf.o"))
}

/// Judges an object on a kernel. `None` if the object cannot be judged.
fn judge_file(path: &Path, target: &Target<'_>, inputs: &KernelInputs) -> Option<ObjectVerdict> {
    let bytes = fs::read(path).unwrap();
    let object = Object::parse(&bytes).ok()?;
    let relocs = object.relocs().ok()?;
    let mut table = NeedTable::default();
    let needs = ObjectNeeds::collect(&object, &relocs, &mut table).ok()?;
    let answers = KernelAnswers::new(&table, target, inputs);
    Some(judge(&needs, &Plan::new(&relocs, target), &answers).unwrap())
}

/// Returns the kinds of the reasons of an object's programs, sorted, each once.
fn reason_kinds(verdict: &ObjectVerdict) -> Vec<ReasonKind> {
    let reasons = verdict.programs.iter().flat_map(|program| &program.reasons);
    let kinds: BTreeSet<_> = reasons.map(|reason| reason.kind).collect();
    kinds.into_iter().collect()
}

/// The expected verdicts on an object on the kernels of [`RELEASES`], with the kinds of the reasons for a
/// refusal.
const EXPECTED: [(&str, [&[ReasonKind]; 4]); 22] = {
    use ReasonKind::{AttachType, Btf, Helper, Instruction, Kfunc, Ksym, MapType, ProgramType, Relocation};
    const LOADS: &[ReasonKind] = &[];
    [
        // Relocations: `task_struct.__state` came with 5.14, 7.1 moved `robust_list`.
        ("demo/exec", [&[Relocation], LOADS, LOADS, &[Relocation]]),
        ("kernel/exec", [&[Relocation], LOADS, LOADS, LOADS]),
        ("fields/guard", [LOADS; 4]),
        ("live/core", [LOADS; 4]),
        // Maps.
        ("live/maps", [LOADS; 4]),
        ("live/user_ringbuf", [&[Helper, MapType, Instruction], LOADS, LOADS, LOADS]),
        ("live/arena_globals", [&[MapType, ProgramType, Instruction], &[MapType, Instruction], LOADS, LOADS]),
        ("live/task_storage", [&[Helper, MapType], LOADS, LOADS, LOADS]),
        // Helpers, addresses of functions.
        ("live/callbacks", [&[Helper, Instruction], LOADS, LOADS, LOADS]),
        ("live/kprobe_multi", [&[Helper], LOADS, LOADS, LOADS]),
        // A helper behind a configuration value that libbpf computes.
        ("live/uprobe", [LOADS; 4]),
        ("live/usdt", [LOADS; 4]),
        // Kfuncs and symbols. The weak ones, whose addresses are tested, are in no kernel.
        ("live/kfunc", [&[Kfunc], &[Kfunc], LOADS, LOADS]),
        ("live/exceptions", [&[Kfunc], &[Kfunc], LOADS, LOADS]),
        ("live/ksym", [&[Ksym], LOADS, LOADS, LOADS]),
        // Before 5.12, a pointer is no parameter of a global function, unless it is the context.
        ("kernel/config", [&[Btf], LOADS, LOADS, LOADS]),
        // Types of programs and attachments.
        ("live/syscall", [&[ProgramType], LOADS, LOADS, LOADS]),
        ("live/netfilter", [&[ProgramType, AttachType], &[ProgramType, AttachType], LOADS, LOADS]),
        ("live/lsm_cgroup", [&[AttachType], LOADS, LOADS, LOADS]),
        // Before 5.14, the kernel does not check the attach type.
        ("live/sk_reuseport", [LOADS; 4]),
        ("live/fentry", [LOADS; 4]),
        // The reason is that of a program that is not in the default load.
        ("live/struct_ops", [&[ReasonKind::StructOps]; 4]),
    ]
};

#[test]
fn verdicts_on_real_kernels() {
    let Some(kernels) = kernels() else {
        return skip!(Kernels, "no kernel BTF: set CORE_RELO_KERNELS or run `cargo xtask kernels`");
    };
    for (name, expected) in EXPECTED {
        for (kernel, expected) in kernels.iter().zip(expected) {
            // Only the symbols tell that a symbol without a type is the only one of its name.
            let symbols = "ffffffff81000000 T schedule\nffffffff82000000 D runqueues\n";
            let kallsyms = (name == "live/ksym").then(|| symbols.into());
            let inputs = KernelInputs { kallsyms, ..KernelInputs::default() };
            let verdict = judge_file(&prebuilt(name), kernel, &inputs).unwrap();
            let place = format!("{name} on {}", kernel.vmlinux().name);
            let expected_verdict = if expected.is_empty() || name == "live/struct_ops" {
                Verdict::Loads
            } else {
                Verdict::Refused
            };
            assert_eq!(verdict.verdict, expected_verdict, "{place}: {verdict:#?}");
            assert_eq!(reason_kinds(&verdict), expected, "{place}: {verdict:#?}");
        }
    }
}

/// The programs of `kernel/guards` that some of the kernels of [`RELEASES`] refuse: the first kernel that
/// loads the program, the first later one that refuses it, and the kind of the reason. Every kernel loads the
/// other programs.
const UNGUARDED: [(&str, std::ops::Range<usize>, &[ReasonKind]); 9] = {
    use ReasonKind::{Helper, Instruction, Relocation};
    [
        ("unguarded", 1..4, &[Relocation]),
        ("wrong_guard", 1..4, &[Relocation]),
        ("unguarded_old", 0..1, &[Relocation]),
        ("unguarded_helper", 1..4, &[Helper]),
        // Before 6.8, and with any argument.
        ("in_global_function", 1..4, &[Helper]),
        ("in_callback", 1..4, &[Helper, Instruction]),
        ("in_callback_context", 1..4, &[Helper, Instruction]),
        ("unguarded_callback", 0..0, &[]),
        ("in_may_goto_loop", 2..4, &[Instruction]),
    ]
};

/// Real loads on these kernels gave the same results.
#[test]
fn guarded_programs_load() {
    let Some(kernels) = kernels() else {
        return skip!(Kernels, "no kernel BTF: set CORE_RELO_KERNELS");
    };
    for (number, kernel) in kernels.iter().enumerate() {
        let inputs = KernelInputs {
            version: Some(RELEASES[number].parse().unwrap()),
            kconfig: Some("CONFIG_BPF_SYSCALL=y\n".into()),
            ..KernelInputs::default()
        };
        let verdict = judge_file(&prebuilt("kernel/guards"), kernel, &inputs).unwrap();
        assert_eq!(verdict.programs.len(), 23);
        for program in &verdict.programs {
            let unguarded = UNGUARDED.iter().find(|(name, ..)| *name == program.name);
            let loads = unguarded.is_none_or(|(_, loads, _)| loads.contains(&number));
            let expected = if loads { Verdict::Loads } else { Verdict::Refused };
            assert_eq!(program.verdict, expected, "on {}: {program:#?}", kernel.vmlinux().name);
            let kinds: BTreeSet<_> = program.reasons.iter().map(|reason| reason.kind).collect();
            let expected = unguarded.filter(|_| !loads).map_or(&[][..], |(_, _, kinds)| *kinds);
            if !expected.is_empty() {
                let kinds: Vec<_> = kinds.into_iter().collect();
                assert_eq!(kinds, expected, "{program:#?}");
            }
        }
    }
}

/// Without the version and the configuration, only the guards that depend on them are open.
#[test]
fn guards_by_unknown_values_are_unknown() {
    let Some(kernels) = kernels() else {
        return skip!(Kernels, "no kernel BTF: set CORE_RELO_KERNELS");
    };
    let verdict = judge_file(&prebuilt("kernel/guards"), &kernels[0], &KernelInputs::default()).unwrap();
    let open = verdict.programs.iter().filter(|program| program.verdict == Verdict::Unknown);
    let open: Vec<_> = open.map(|program| &*program.name).collect();
    assert_eq!(open, ["version", "config"]);
}

#[test]
fn refusals_have_the_source_line_of_the_first_reachable_instruction() {
    let Some(kernels) = kernels() else {
        return skip!(Kernels, "no kernel BTF: set CORE_RELO_KERNELS");
    };
    for (name, line, text) in [
        ("demo/exec", 70, "event->state = task->__state;"),
        ("live/callbacks", 32, "for_each_map_elem(&numbers, each, (void *)0, 0);"),
        ("live/kfunc", 19, "struct task_struct *task = bpf_task_from_pid(only_pid);"),
    ] {
        let verdict = judge_file(&prebuilt(name), &kernels[0], &KernelInputs::default()).unwrap();
        let source = verdict.programs[0].reasons[0].source.as_ref().unwrap();
        assert_eq!((source.line, &*source.text), (line, text), "{name}");
    }
}

#[test]
fn programs_that_replace_others_need_input() {
    let Some(kernels) = kernels() else {
        return skip!(Kernels, "no kernel BTF: set CORE_RELO_KERNELS");
    };
    for kernel in &kernels {
        let verdict = judge_file(&prebuilt("live/freplace"), kernel, &KernelInputs::default()).unwrap();
        assert_eq!(verdict.verdict, Verdict::NeedsInput);
        assert_eq!(reason_kinds(&verdict), [ReasonKind::AttachTarget]);
    }
}

#[test]
fn configuration_values_need_the_configuration() {
    let Some(kernels) = kernels() else {
        return skip!(Kernels, "no kernel BTF: set CORE_RELO_KERNELS");
    };
    let config = "CONFIG_HZ=250\nCONFIG_BPF_SYSCALL=y\nCONFIG_NET=y\nCONFIG_DEFAULT_HOSTNAME=\"(none)\"\n";
    let version = Some(KernelVersion::release(6, 1));
    let with_config =
        |text: &str| KernelInputs { kconfig: Some(text.into()), version, ..KernelInputs::default() };
    for (inputs, expected) in [
        (KernelInputs::default(), Verdict::Unknown),
        (with_config(config), Verdict::Loads),
        (with_config("CONFIG_HZ=250\n"), Verdict::Refused),
    ] {
        let verdict = judge_file(&prebuilt("live/kconfig"), &kernels[1], &inputs).unwrap();
        assert_eq!(verdict.verdict, expected, "{verdict:#?}");
    }
}

/// The objects of a case have no enums of the kernel: guards decide without them, and nothing is refused for
/// their lack.
#[test]
fn guarded_reads_are_no_reason_on_reduced_types() {
    for target in ["old", "new", "neither"] {
        let path = prebuilt("fields/guard").with_file_name(format!("guard.{target}.o"));
        let btf = BtfFile::read(&path).unwrap().parse_unvalidated(None).unwrap();
        let kernel = Target::new("reduced", Arc::new(btf));
        let verdict = judge_file(&prebuilt("fields/guard"), &kernel, &KernelInputs::default()).unwrap();
        assert_eq!(verdict.verdict, Verdict::Unknown, "{verdict:#?}");
        assert!(!reason_kinds(&verdict).contains(&ReasonKind::Relocation), "{verdict:#?}");
    }
}

#[test]
fn verdicts_agree_with_their_reasons() {
    let Some(kernels) = kernels() else {
        return skip!(Kernels, "no kernel BTF: set CORE_RELO_KERNELS");
    };
    let mut programs = 0_usize;
    for path in artifacts::objects() {
        for kernel in &kernels {
            let Some(verdict) = judge_file(&path, kernel, &KernelInputs::default()) else { continue };
            let place = || format!("{} on {}", path.display(), kernel.vmlinux().name);
            for program in &verdict.programs {
                programs = programs.saturating_add(1);
                let worst = program.reasons.iter().map(|reason| reason.verdict).max().unwrap_or_default();
                assert_eq!(program.verdict, worst, "{}: {program:#?}", place());
                let is_complete = |reason: &Reason| match reason.verdict {
                    Verdict::Refused => reason.evidence.is_some(),
                    Verdict::NeedsInput => reason.fix.is_some(),
                    Verdict::Unknown => true,
                    Verdict::Loads => false,
                };
                assert!(program.reasons.iter().all(is_complete), "{}: {program:#?}", place());
            }
            // A program array concerns a program that is loaded alone, not the default load.
            let default_load = verdict.programs.iter().filter(|program| program.autoload);
            let reasons = default_load.clone().flat_map(|program| &program.reasons);
            let of_all = reasons.filter(|reason| !reason.text.contains(": holds program "));
            let worst = of_all.map(|reason| reason.verdict).max().unwrap_or_default();
            let is_worst = worst == verdict.verdict || verdict.verdict == Verdict::NeedsInput;
            assert!(default_load.count() == 0 || is_worst, "{}: {verdict:#?}", place());
        }
    }
    println!("{programs} programs");
}
