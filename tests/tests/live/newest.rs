//! What the newest kernels have: links to many functions, streams, association with a struct_ops map.

use super::harness::{Need, Veth, hits, live, load, load_with, object, run};
use core_relo_loader::{
    Errno, Loader,
    attach::{TraceMultiOptions, TraceSet},
    inventory,
    load::{StreamId, TestRun},
    load_plan::AttachTarget,
    object::Object,
};
use core_relo_test_support::skip;
use std::path::Path;

#[test]
fn one_link_traces_the_functions_that_the_section_names() {
    const TEST: &str = "newest::one_link_traces_the_functions_that_the_section_names";
    let Some(_live) = live(TEST, &[Need::Tracing, Need::Function("bpf_trampoline_multi_attach")]) else {
        return;
    };
    let loaded = load("fentry_multi");
    let attached = loaded.attach("enter").unwrap();
    assert_eq!(attached.label(), "fentry.multi/bpf_fentry_test?");
    let exit = loaded.attach("leave").unwrap();
    let run_once = || {
        inventory::test_run(loaded.program("enter").unwrap(), &mut TestRun::default()).unwrap();
    };
    run_once();
    let (entries, exits) = (hits(&loaded), loaded.global::<u64>("exits").unwrap());
    assert!(entries > 2 && exits == 1, "{entries} {exits}");
    attached.detach().unwrap();
    exit.detach().unwrap();
    run_once();
    assert_eq!((hits(&loaded), loaded.global::<u64>("exits").unwrap()), (entries, exits));
}

#[test]
fn one_link_traces_functions_of_a_module() {
    const TEST: &str = "newest::one_link_traces_functions_of_a_module";
    let needs = [Need::Tracing, Need::Function("bpf_trampoline_multi_attach"), Need::Veth];
    let Some(_live) = live(TEST, &needs) else { return };
    if !Path::new("/sys/kernel/btf/veth").exists() {
        return skip(TEST, "veth is no module of this kernel, or has no BTF");
    }
    let loaded = load_with("fentry_multi", |loader| {
        loader.program_mut("of_module").autoload = Some(true);
    });
    let attached = loaded.attach("of_module").unwrap();
    assert_eq!(attached.label(), "fentry.multi/veth:veth_*");
    let veth = Veth::new();
    assert!(hits(&loaded) > 0);
    attached.detach().unwrap();
    drop(veth);
    let (before, options) = (hits(&loaded), TraceMultiOptions::default());
    drop(Veth::new());
    assert_eq!(hits(&loaded), before);
    // The functions of a name are those of the module for which the program was loaded.
    let attach = |program, functions| loaded.program_ref(program)?.attach_trace_multi(functions, &options);
    drop(attach("of_module", TraceSet::Functions(&["veth_open"])).unwrap());
    for (program, pattern, problem) in [
        (
            "enter",
            "veth:veth_*",
            "loaded for functions of the kernel: set its attach target to `veth:veth_*` before the load",
        ),
        ("of_module", "veth_*", "loaded for functions of module `veth`: expected the pattern `veth:veth_*`"),
        (
            "of_module",
            "other:*",
            "loaded for functions of module `veth`: set its attach target to `other:*` before the load",
        ),
        ("of_module", "veth:no_such_*", "no function that can be traced matches"),
    ] {
        let error = attach(program, TraceSet::Pattern(pattern)).unwrap_err().to_string();
        assert!(error.ends_with(problem), "{pattern}: {error}");
    }
    let error = attach("of_module", TraceSet::Functions(&["tcp_connect"])).unwrap_err().to_string();
    assert!(error.ends_with("no function `tcp_connect` in the BTF of module `veth`"), "{error}");
}

#[test]
fn the_module_of_a_program_must_be_loaded() {
    const TEST: &str = "newest::the_module_of_a_program_must_be_loaded";
    let Some(_live) = live(TEST, &[Need::Btf]) else { return };
    let bytes = object("fentry_multi");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object);
    loader.program_mut("enter").attach_to = Some(AttachTarget::Kernel("no_such_module:open_*".to_owned()));
    let error = loader.load().unwrap_err().to_string();
    assert!(
        error.contains("program `enter`: no BTF of module `no_such_module`: it is not loaded, "),
        "{error}"
    );
}

#[test]
fn the_output_of_a_program_is_read_from_its_stream() {
    const TEST: &str = "newest::the_output_of_a_program_is_read_from_its_stream";
    let needs = [Need::Jit, Need::Function("bpf_prog_stream_read"), Need::MemoryAnywhere];
    let Some(_live) = live(TEST, &needs) else { return };
    let loaded = load("stream");
    for _ in 0..2 {
        run(&loaded, "print");
    }
    let error: i32 = loaded.global("error").unwrap();
    if Errno(-error) == Errno::ENOMEM {
        // The kernel has no memory for callers in any context.
        return skip(TEST, "this kernel has no memory for streams");
    }
    assert!(error >= 0, "{error}");
    let program = loaded.program("print").unwrap();
    assert_eq!(String::from_utf8_lossy(&program.read_stream(StreamId::Stdout).unwrap()), "run 1\nrun 2\n");
    assert_eq!(program.read_stream(StreamId::Stdout), Ok(Vec::new()));
    assert_eq!(program.read_stream(StreamId::Stderr), Ok(Vec::new()));
}

#[test]
fn a_program_is_associated_with_one_struct_ops_map() {
    const TEST: &str = "newest::a_program_is_associated_with_one_struct_ops_map";
    let Some(_live) = live(TEST, &[Need::Btf, Need::StructOps]) else { return };
    let (tables, others, stream) = (load("struct_ops"), load("struct_ops"), load("stream"));
    let map = |loaded: &core_relo_loader::load::Loaded| {
        loaded.map("still").unwrap().fd().unwrap().try_clone_to_owned().unwrap()
    };
    let program = stream.program("print").unwrap();
    match program.associate_struct_ops(map(&tables)) {
        Err(e @ Errno(_)) if e == Errno::EINVAL => {
            return skip(TEST, &format!("this kernel associates no programs: {e}"));
        }
        result => result.unwrap(),
    }
    assert_eq!(program.associate_struct_ops(map(&others)).unwrap_err(), Errno::EBUSY);
    assert_eq!(
        program.associate_struct_ops(stream.map(".bss").unwrap().fd().unwrap()).unwrap_err(),
        Errno::EINVAL
    );
    let own = tables.program("init").unwrap();
    assert!(own.associate_struct_ops(map(&tables)).is_err());
}
