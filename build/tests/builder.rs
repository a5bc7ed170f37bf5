//! The builder with real compilers: what it writes, what it tells cargo, and how it fails.

#![expect(clippy::unwrap_used, reason = "tests")]

use core_relo::{Endian, btf};
use core_relo_build::{BuildError, Builder, skeleton::Options};
use core_relo_test_support::skip;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

const SOURCE: &str = r#"
#include "core_relo.h"
#include "shared types.h"

#define SEC(name) __attribute__((section(name), used))

struct {
	int (*type)[27];
	int (*max_entries)[4096];
} events SEC(".maps");
EVENT_TYPE(events, struct event);

const volatile int only_pid = 0;

SEC("tp/syscalls/sys_enter_getpid") int on_getpid(void *ctx)
{
	return only_pid;
}
"#;

const HEADER: &str = "struct event { unsigned int pid; unsigned long long ns; };\n";

/// A directory of a project: sources in `src`, output in `out`.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        fs::create_dir(project.path("src")).unwrap();
        fs::create_dir(project.path("out")).unwrap();
        project.write("src/agent.bpf.c", SOURCE);
        project.write("src/shared types.h", HEADER);
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn builder(&self) -> Builder {
        Builder::new().source(self.path("src/agent.bpf.c")).out_dir(self.path("out"))
    }

    /// Builds, and returns the directives for cargo. `None` where there is no clang.
    fn build(&self) -> Option<Result<String, BuildError>> {
        let mut directives = Vec::new();
        match self.builder().build_with(&mut directives) {
            Err(BuildError::NoClang { .. }) => {
                skip!(Clang, "no clang that compiles BPF programs");
                None
            }
            result => Some(result.map(|_| String::from_utf8(directives).unwrap())),
        }
    }

    fn outputs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("out")).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_source_becomes_an_object_and_a_skeleton() {
    let project = Project::new();
    let Some(directives) = project.build() else { return };
    let directives = directives.unwrap();
    assert_eq!(project.outputs(), ["agent.bpf.o", "agent.skel.rs", "include"]);
    let skeleton = fs::read_to_string(project.path("out/agent.skel.rs")).unwrap();
    for part in [
        "pub mod agent {",
        "RingBufferMap<Event>",
        "pub ns: u64",
        "InitialValue<i32>",
        "include_bytes!(\"agent.bpf.o\")",
    ] {
        assert!(skeleton.contains(part), "{part} in {skeleton}");
    }
    let header = format!("cargo::rerun-if-changed={}", project.path("src/shared types.h").display());
    let source = format!("cargo::rerun-if-changed={}", project.path("src/agent.bpf.c").display());
    assert!(
        directives.lines().any(|line| line == header) && directives.lines().any(|line| line == source),
        "{directives}"
    );
    assert!(directives.contains("cargo::rerun-if-env-changed=CLANG"), "{directives}");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    assert!(directives.contains(&format!("rerun-if-changed={}\n", manifest.display())), "{directives}");
    let own = project.path("out").display().to_string();
    assert!(
        !directives.contains(&own),
        "a file that each run writes would run the build script forever: {directives}"
    );
    assert!(!directives.contains("cargo::warning"), "{directives}");
}

#[test]
fn warnings_reach_cargo_and_errors_name_the_line() {
    let project = Project::new();
    project.write("src/agent.bpf.c", &SOURCE.replace("return only_pid;", "int unused;\n\treturn only_pid;"));
    let Some(directives) = project.build() else { return };
    let directives = directives.unwrap();
    assert!(directives.contains("cargo::warning=") && directives.contains("unused variable"), "{directives}");

    let before = fs::read(project.path("out/agent.bpf.o")).unwrap();
    project.write("src/agent.bpf.c", &SOURCE.replace("return only_pid;", "return only_pod;"));
    let error = project.build().unwrap().unwrap_err().to_string();
    assert!(error.contains("agent.bpf.c:17") && error.contains("only_pod"), "{error}");
    assert_eq!(fs::read(project.path("out/agent.bpf.o")).unwrap(), before, "the old object stays");
    assert_eq!(project.outputs(), ["agent.bpf.o", "agent.skel.rs", "include"], "no temporary file stays");

    project.write("src/agent.bpf.c", &SOURCE.replace("shared types.h", "missing.h"));
    let error = project.build().unwrap().unwrap_err().to_string();
    assert!(error.contains("'missing.h' file not found"), "{error}");
}

#[test]
fn vmlinux_h_declares_the_running_kernels_types() {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return skip!(Btf, "the running kernel has no BTF");
    }
    let project = Project::new();
    project.write(
        "src/agent.bpf.c",
        "#include \"vmlinux.h\"\n#include <bpf/bpf_core_read.h>\n#include <bpf/bpf_tracing.h>\n\
         u64 pids;\n\
         SEC(\"tp_btf/sched_process_exec\") int BPF_PROG(on_exec, struct task_struct *task)\n\
         {\n\tpids += BPF_CORE_READ(task, real_parent, tgid);\n\treturn 0;\n}\n",
    );
    let mut directives = Vec::new();
    match project.builder().vmlinux_of_running_kernel().build_with(&mut directives) {
        Err(BuildError::NoClang { .. }) => skip!(Clang, "no clang that compiles BPF programs"),
        result => {
            result.unwrap();
            let directives = String::from_utf8(directives).unwrap();
            assert!(!directives.contains("cargo::warning"), "{directives}");
            assert!(project.path("out/vmlinux/vmlinux.h").exists());
        }
    }
}

/// A `vmlinux.h` of an earlier build or of the preprocessor stays in the output directory, which cargo keeps.
#[test]
fn vmlinux_h_of_an_earlier_run_is_not_seen() {
    let project = Project::new();
    let mut kernel = btf::Builder::new(Endian::Little);
    kernel.structure("old_kernel", 4, &[]);
    fs::write(project.path("old.btf"), kernel.finish()).unwrap();
    project.write("src/agent.bpf.c", "#include <vmlinux.h>\nstruct old_kernel value;\n");
    let built = project.builder().vmlinux_of(project.path("old.btf")).build_with(&mut Vec::new());
    if let Err(BuildError::NoClang { .. }) = built {
        return skip!(Clang, "no clang that compiles BPF programs");
    }
    built.unwrap();

    let error = project.build().unwrap().unwrap_err().to_string();
    assert!(error.contains("'vmlinux.h' file not found"), "{error}");

    project.builder().preprocess("struct old_kernel;").unwrap();
    let error = project.build().unwrap().unwrap_err().to_string();
    assert!(error.contains("'vmlinux.h' file not found"), "{error}");

    // The source's own.
    project.write("src/vmlinux.h", "struct old_kernel { int member; };\n");
    let include = format!("-I{}", project.path("src").display());
    project.write("src/agent.bpf.c", "#include <vmlinux.h>\nint value = sizeof(struct old_kernel);\n");
    project.builder().clang_arg(include).build_with(&mut Vec::new()).unwrap();
}

/// A project with its skeletons in the tree keeps its `vmlinux.h` beside the builder's headers. It may be one
/// of core-relo. The builder removed it.
#[test]
fn a_vmlinux_h_of_the_user_stays_beside_the_headers() {
    let project = Project::new();
    project.write("src/agent.bpf.c", "#include <vmlinux.h>\nint value = sizeof(struct own_kernel);\n");
    let mut kernel = btf::Builder::new(Endian::Little);
    let int = kernel.int("int", 4, btf::Builder::SIGNED);
    kernel.structure("own_kernel", 4, &[("member", int, 0)]);
    let kernel = kernel.finish();
    let header = btf::CHeader::new(&btf::Btf::parse(&kernel).unwrap()).to_string();
    fs::create_dir_all(project.path("out/include")).unwrap();
    project.write("out/include/vmlinux.h", &header);
    let Some(built) = project.build() else { return };
    built.unwrap();
    assert_eq!(fs::read_to_string(project.path("out/include/vmlinux.h")).unwrap(), header);

    // The one that the build script names comes first, and the user's stays all the same.
    project.write("out/include/vmlinux.h", "#error the user's header\n");
    fs::write(project.path("kernel.btf"), &kernel).unwrap();
    project.builder().vmlinux_of(project.path("kernel.btf")).build_with(&mut Vec::new()).unwrap();
    assert!(project.path("out/include/vmlinux.h").exists());
}

/// A machine of 32 bits was built for as the one of 64 bits with the same registers.
#[test]
fn the_machine_tells_the_word_size_of_its_kernels() {
    let project = Project::new();
    project.write("src/agent.bpf.c", "#include <vmlinux.h>\nstruct kernel_type value;\n");
    for bytes in [4, 8] {
        let mut kernel = btf::Builder::new(Endian::Little);
        kernel.int("unsigned long", bytes, 0);
        let long = kernel.int("long", bytes, btf::Builder::SIGNED);
        kernel.structure("kernel_type", bytes, &[("member", long, 0)]);
        fs::write(project.path(&format!("{bytes}.btf")), kernel.finish()).unwrap();
    }
    let build = |machine: &str, types: &str| {
        let builder = project.builder().machine(machine, Endian::Little);
        let built = builder.vmlinux_of(project.path(types)).build_with(&mut Vec::new());
        built.map(drop).map_err(|e| e.to_string())
    };
    if build("riscv64", "8.btf").is_err_and(|error| error.starts_with("no clang")) {
        return skip!(Clang, "no clang that compiles BPF programs");
    }
    for (machine, types) in [
        ("i686", "4.btf"),
        ("armv6l", "4.btf"),
        ("riscv32", "4.btf"),
        ("riscv64", "8.btf"),
        ("amd64", "8.btf"),
    ] {
        build(machine, types).unwrap();
    }
    for (machine, types) in [("riscv32", "8.btf"), ("riscv64", "4.btf"), ("x86_64", "4.btf")] {
        let error = build(machine, types).unwrap_err();
        assert!(error.contains("a kernel with words of"), "{machine}: {error}");
    }
    for error in [
        build("pdp11", "4.btf").unwrap_err(),
        project.builder().machine("pdp11", Endian::Little).preprocess("").unwrap_err().to_string(),
    ] {
        assert!(error.contains("no machine is called `pdp11`") && error.contains("x86_64"), "{error}");
    }
}

#[test]
fn a_source_without_a_skeleton_is_named() {
    let project = Project::new();
    project.write("src/agent.bpf.c", &SOURCE.replace("EVENT_TYPE(events,", "EVENT_TYPE(other,"));
    let Some(result) = project.build() else { return };
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("agent.bpf.c: no skeleton: map `other`: the object has no such ring buffer"),
        "{error}"
    );
}

/// Builds one source. Returns the skeleton or the error; `None` where there is no clang.
fn skeleton_of(source: &str) -> Option<Result<String, String>> {
    let project = Project::new();
    project.write("src/agent.bpf.c", source);
    let result = project.build()?.map_err(|e| e.to_string());
    Some(result.map(|_| fs::read_to_string(project.path("out/agent.skel.rs")).unwrap()))
}

#[test]
fn a_type_of_several_kinds_of_events_is_one_variant() {
    let kinds = |value: &str| {
        let kinds = format!(
            "EVENT_KIND(events, struct event, pid, 1);\nEVENT_KIND(events, struct event, pid, {value});"
        );
        SOURCE.replace("EVENT_TYPE(events, struct event);", &kinds)
    };
    let Some(skeleton) = skeleton_of(&kinds("7")) else { return };
    let skeleton = skeleton.unwrap();
    assert_eq!(skeleton.matches("    Event(Event),").count(), 1, "{skeleton}");
    assert!(skeleton.contains("Some(1 | 7)"), "{skeleton}");
    let narrow = kinds("300").replace("#include \"shared types.h\"", "struct event { unsigned char pid; };");
    let error = skeleton_of(&narrow).unwrap().unwrap_err();
    assert!(
        error.contains("events of map `events`: 300 does not fit the member `pid` of `event`"),
        "{error}"
    );
    let twice = kinds("2").replace("event, pid, 2", "event, ns, 2");
    let error = skeleton_of(&twice).unwrap().unwrap_err();
    assert!(error.contains("two members tell the kind of `Event`"), "{error}");
    let same = kinds("1").replacen(
        "EVENT_KIND(events, struct event",
        "struct other { unsigned pid; };\nEVENT_KIND(events, struct other",
        1,
    );
    let error = skeleton_of(&same).unwrap().unwrap_err();
    assert!(error.contains("events of map `events`: `other` and `event` have the same kind 1"), "{error}");
}

/// libbpf's skeletons have the typed members of struct_ops tables before the load. Bitfields, pointers,
/// optional maps and functions with the names of fields are the difficult cases.
#[test]
fn tables_of_struct_ops_have_typed_members() {
    let table = "struct some_ops { int (*values)(void); void *data; unsigned timeout_ms; unsigned low : 3, high : 5;\n\
                 int (*exit)(int); struct { short a, b; } pair; char name[16]; };\n\
                 SEC(\"struct_ops/values\") int run_values(void *ctx) { return 0; }\n\
                 SEC(\"struct_ops/exit\") int type(void *ctx) { return 0; }\n\
                 SEC(\".struct_ops.link\") struct some_ops first = { .values = (void *)run_values, .name = \"first\" };\n\
                 SEC(\"?.struct_ops.link\") struct some_ops second = { .exit = (void *)type };\n";
    let Some(skeleton) = skeleton_of(&format!("{SOURCE}{table}")) else { return };
    let skeleton = skeleton.unwrap();
    for part in [
        "pub struct_ops: OpenStructOps,",
        "pub first: skeleton::StructOps,",
        "pub second: Option<skeleton::StructOps>,",
        "pub values: Option<StructOpsProgram>,",
        "values2: skeleton::InitialValue<SomeOps>,",
        "values: Some(StructOpsProgram::run_values),",
        "exit: Some(StructOpsProgram::r#type),",
        "Self::r#type => \"type\",",
        "pub timeout_ms: u32,",
        "pub fn set_high(&mut self, value: u32) {",
        "pub pair: SomeOpsPair,",
        "\"?.struct_ops.link/second\"",
        "/// Padding, or pointers, which the loader sets.",
    ] {
        assert!(skeleton.contains(part), "{part} in {skeleton}");
    }
    assert_eq!(skeleton.matches("pub struct SomeOps {").count(), 1, "{skeleton}");
    assert!(!skeleton.contains("pub data:"), "{skeleton}");
    let stray = table.replace(".name = \"first\"", ".exit = (void *)on_getpid");
    let error = skeleton_of(&format!("{SOURCE}{stray}")).unwrap().unwrap_err();
    assert!(error.contains("which is not a program of a section `struct_ops`"), "{error}");
}

/// Loaders do not place common symbols, so a skeleton would not have the variable.
#[test]
fn common_symbols_are_refused_with_the_compilers_option() {
    let project = Project::new();
    project.write("src/agent.bpf.c", &format!("{SOURCE}\nunsigned long counter;\n"));
    match project.builder().clang_arg("-fcommon").build_with(&mut Vec::new()) {
        Err(BuildError::NoClang { .. }) => skip!(Clang, "no clang that compiles BPF programs"),
        result => {
            let error = result.unwrap_err().to_string();
            let expected = "variable `counter` is uninitialised and in no section (a common symbol): compile with -fno-common";
            assert!(error.contains(expected), "{error}");
        }
    }
}

/// Names that clang, `usdt.bpf.h` and `bpf_printk` make were fields of skeletons.
#[test]
fn internal_names_are_no_fields() {
    let source = "#include <bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n#include <bpf/usdt.bpf.h>\n\
                  struct state { int a[4]; }; int calls;\n\
                  SEC(\"usdt\") int BPF_USDT(on_state, long x) {\n\
                  static const volatile struct state zero = {}; static int seen;\n\
                  bpf_printk(\"%d\", zero.a[x & 3]); calls += ++seen; return bpf_usdt_arg_cnt(ctx); }\n";
    let source = format!("#include <linux/bpf.h>\n#include <linux/ptrace.h>\n{source}");
    let Some(skeleton) = skeleton_of(&source) else { return };
    let skeleton = skeleton.unwrap();
    assert!(skeleton.contains("pub calls: skeleton::Variable<i32>,"), "{skeleton}");
    for internal in ["zero", "seen", "fmt", "__bpf_usdt", "UsdtSpec", "LINUX_HAS"] {
        assert!(!skeleton.contains(internal), "{internal} in {skeleton}");
    }
}

/// A struct is a Rust type or bytes, whatever other variables there are.
#[test]
fn other_variables_do_not_change_the_type_of_a_variable() {
    let structs: Vec<_> =
        (1..45).map(|n| format!("struct s{n} {{ struct s{} inner; int i; }};\n", n - 1)).collect();
    let structs = structs.concat();
    let source = |variables: &str| {
        format!("struct s0 {{ int i; }};\n{structs}{variables}\nstatic int unused;{SOURCE}")
    };
    let Some(alone) = skeleton_of(&source("struct s20 first;")) else { return };
    assert!(alone.unwrap().contains("pub first: skeleton::InitialValue<S20>"));
    for variables in ["struct s20 first; struct s44 second;", "struct s44 second; struct s20 first;"] {
        let both = skeleton_of(&source(variables)).unwrap().unwrap();
        assert!(both.contains("pub first: skeleton::InitialValue<S20>"), "{variables}");
        assert!(both.contains("pub second: skeleton::InitialValue<[u8; 180]>"), "{variables}");
    }
}

#[test]
fn options_hold_for_the_sources_that_have_the_map_or_type() {
    let project = Project::new();
    let plain = SOURCE.replace("EVENT_TYPE(events, struct event);", "struct event *used;");
    project.write("src/agent.bpf.c", &plain);
    project.write(
        "src/other.bpf.c",
        &plain.replace("events", "records").replace("struct event", "struct other"),
    );
    let build = |change: &dyn Fn(Builder) -> Builder| {
        let builder = change(project.builder().source(project.path("src/other.bpf.c")));
        match builder.build_with(&mut Vec::new()) {
            Err(BuildError::NoClang { .. }) => None,
            result => Some(result.map_err(|e| e.to_string())),
        }
    };
    let with_event = |builder: Builder| builder.event("events", "struct event");
    let Some(built) = build(&with_event) else {
        return skip!(Clang, "no clang that compiles BPF programs");
    };
    built.unwrap();
    let skeleton = fs::read_to_string(project.path("out/agent.skel.rs")).unwrap();
    assert!(skeleton.contains("RingBufferMap<Event>"), "{skeleton}");
    // Options that come later do not remove the events.
    let with_options =
        |builder: Builder| with_event(builder).optional_map("records").skeleton_options(Options::default());
    build(&with_options).unwrap().unwrap();
    let other = fs::read_to_string(project.path("out/other.skel.rs")).unwrap();
    assert!(other.contains("pub records: Option<skeleton::RingBufferMap<"), "{other}");
    let skeleton = fs::read_to_string(project.path("out/agent.skel.rs")).unwrap();
    assert!(skeleton.contains("RingBufferMap<Event>"), "{skeleton}");
    let error = build(&|builder| builder.event("absent", "struct event")).unwrap().unwrap_err();
    assert_eq!(error, "no source has a map `absent`");
    let error = build(&|builder| {
        let mut options = Options::default();
        options.types = vec!["struct absent".to_owned()];
        builder.skeleton_options(options)
    });
    assert_eq!(error.unwrap().unwrap_err(), "no source has a type `struct absent` in the BTF of its object");
}

#[test]
fn sources_need_names_of_their_own() {
    let project = Project::new();
    let error = |builder: Builder| builder.build_with(&mut Vec::new()).unwrap_err().to_string();
    let out = |builder: Builder| builder.out_dir(project.path("out"));
    assert!(error(out(Builder::new())).contains("no source was given"));
    let named = error(out(Builder::new().source("a.rs")));
    assert_eq!(named, "a.rs: the name of a source ends with .bpf.c");
    let same = error(out(Builder::new().source("x/a.bpf.c").source("y/a.bpf.c")));
    assert_eq!(same, "x/a.bpf.c and y/a.bpf.c: both skeletons would be called `a`");
    // The module would hide a crate: one that each program has, and a dependency of this package.
    for module in ["core", "std", "core_relo_loader", "tempfile"] {
        let hidden = error(out(Builder::new().source(format!("x/{}.bpf.c", module.replace('_', "-")))));
        assert!(
            hidden.contains(&format!("the skeleton's module would be called `{module}`, as a crate"))
                && hidden.contains("help: rename the source"),
            "{hidden}"
        );
    }
    // Cargo sets OUT_DIR for this test, too, if the crate has a build script; it has none.
    let outside = error(Builder::new().source("a.bpf.c"));
    assert!(outside.contains("OUT_DIR is not set"), "{outside}");
}

#[test]
fn compilers_that_do_not_fit_are_named_with_the_way_out() {
    let project = Project::new();
    let program = |name: &str, text: &str| {
        let path = project.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let error =
        |clang: &Path| project.builder().clang(clang).build_with(&mut Vec::new()).unwrap_err().to_string();
    let old = error(&program("old", "#!/bin/sh\necho clang version 9.0.1\n"));
    assert!(old.contains("clang 9 is too old") && old.contains("apt install clang"), "{old}");
    let version = "#!/bin/sh\n[ \"$1\" = --version ] && echo clang version 19.0.0 && exit\nexit 1\n";
    let without_target = error(&program("without", version));
    assert!(without_target.contains("it has no target `bpf`"), "{without_target}");
    assert_eq!(project.outputs(), [""; 0]);
}

#[test]
fn an_output_directory_that_cannot_be_written_is_named() {
    let project = Project::new();
    let builder =
        Builder::new().source(project.path("src/agent.bpf.c")).out_dir(project.path("src/agent.bpf.c"));
    match builder.build_with(&mut Vec::new()) {
        Err(BuildError::NoClang { .. }) => skip!(Clang, "no clang that compiles BPF programs"),
        result => {
            let error = result.unwrap_err();
            assert!(matches!(error, BuildError::Io { .. }), "{error}");
            assert!(error.to_string().contains("agent.bpf.c"), "{error}");
        }
    }
}
