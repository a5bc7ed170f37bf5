//! `btf dump --format c` and `gen vmlinux`: C headers that compile, and errors that leave nothing behind.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use common::{demo, run, run_in, text};
use core_relo::{
    Endian,
    btf::{Builder, Kind},
};
use core_relo_test_support::{Clang, clang, find_clangs, skip};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags},
    process::{Pid, Signal},
};
use std::{
    fs,
    io::Write as _,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::LazyLock,
    time::{Duration, Instant},
};

const KERNEL: &str = "linux-7.2.btf";

/// Compiles C for BPF, with warnings as errors. Returns what clang prints; `None` without a clang.
fn compile(source: &str, include: &Path) -> Option<String> {
    let mut command = clang()?.command();
    command
        .args(["-target", "bpf", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-"])
        .arg("-I")
        .arg(include);
    let mut clang = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    clang.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = clang.wait_with_output().unwrap();
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns whether sources can be read on this machine: with a clang for BPF, and the headers of Linux.
fn has_clang(dir: &Path) -> bool {
    let mut b = Builder::new(Endian::Little);
    b.int("int", 4, Builder::SIGNED);
    fs::write(dir.join("probe.btf"), b.finish()).unwrap();
    fs::write(dir.join("probe.bpf.c"), "#include <linux/types.h>\n").unwrap();
    let probe = run_in(dir, ["gen", "vmlinux", "probe.bpf.c", "--btf", "probe.btf"]);
    let reason = ["no clang", "file not found"].into_iter().find(|reason| probe.err.contains(reason));
    if let Some(reason) = reason {
        skip!("{reason}");
    } else {
        assert_eq!(probe.exit, 0, "{probe:?}");
    }
    reason.is_none()
}

fn assert_compiles(source: &str, include: &Path) {
    match compile(source, include) {
        Some(errors) => assert_eq!(errors, ""),
        None => skip!(Clang, "no clang"),
    }
}

#[test]
fn the_header_of_a_kernel_compiles_with_its_layout() {
    let dump = run(["btf", "dump", KERNEL, "--format", "c", "--assertions"]);
    assert_eq!((dump.exit, &*dump.err), (0, ""));
    assert!(dump.out.contains("struct task_struct {\n"), "{:.300}", dump.out);
    assert!(dump.out.contains("_Static_assert(sizeof(struct task_struct) == "));
    assert_compiles(&dump.out, Path::new("."));
    let again = run(["btf", "dump", KERNEL, "--format", "c", "--assertions"]);
    assert_eq!(dump.out, again.out);
}

#[test]
fn roots_select_types_and_what_these_need() {
    let dump = |root: &str| run(["btf", "dump", KERNEL, "--format", "c", "--root", root]);
    let one = dump("list_head");
    assert_eq!(one.exit, 0);
    assert!(
        one.out.contains("struct list_head {\n") && !one.out.contains("struct task_struct {\n"),
        "{}",
        one.out
    );
    let several = dump("task_str*");
    assert!(several.out.contains("struct task_struct {\n") && several.out.len() > one.out.len());
    assert_compiles(&several.out, Path::new("."));
    let none = dump("no_such_type");
    assert_eq!((none.exit, &*none.out), (2, ""));
    assert!(none.err.contains("linux-7.2.btf: no type `no_such_type`"), "{}", none.err);
}

#[test]
fn a_header_of_what_an_object_uses_is_smaller_and_enough() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("vmlinux.h");
    let generated = run(["gen", "vmlinux", "exec.bpf.o", "--btf", KERNEL, "--assertions", "-o", text(&out)]);
    assert_eq!((generated.exit, &*generated.err), (0, ""));
    let header = fs::read_to_string(&out).unwrap();
    let whole = run(["btf", "dump", KERNEL, "--format", "c", "--assertions"]).out;
    assert!(header.len() < whole.len(), "{} of {}", header.len(), whole.len());
    let program = "#include \"vmlinux.h\"\nint pid(struct task_struct *task) { return task->pid; }\n";
    assert_compiles(program, dir.path());
    let printed = run(["gen", "vmlinux", "exec.bpf.o", "--btf", KERNEL, "--assertions"]);
    assert_eq!(printed.out, header);
}

/// The standards that compilers may know, from the oldest to the newest.
const STANDARDS: [&str; 9] = ["c89", "gnu89", "c99", "gnu11", "c17", "c2x", "c23", "gnu23", "c++17"];

/// A compiler, and a standard that it knows.
struct Compiler {
    clang: &'static Clang,
    standard: &'static str,
}

impl Compiler {
    fn is_for_cpp(&self) -> bool {
        self.standard.contains("++")
    }

    /// Compiles C or C++ for BPF, with warnings as errors. Returns what clang prints.
    fn compile(&self, source: &str) -> String {
        let mut command = self.clang.command();
        let language = if self.is_for_cpp() { "c++" } else { "c" };
        command.args(["-target", "bpf", "-Wall", "-Werror", "-fsyntax-only", "-x", language, "-"]);
        command.arg(format!("-std={}", self.standard)).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

/// One clang of each version on this machine.
static CLANGS: LazyLock<Vec<Clang>> = LazyLock::new(find_clangs);

/// The compilers of this machine, each with the standards that it knows.
static COMPILERS: LazyLock<Vec<Compiler>> = LazyLock::new(|| {
    // clang 15 to 17 know C23 by an older name.
    let compilers: Vec<_> = CLANGS.iter().flat_map(standards_of).collect();
    if compilers.is_empty() {
        skip!(Clang, "no clang");
    }
    compilers
});

/// Returns a compiler with each standard that it knows.
fn standards_of(clang: &'static Clang) -> Vec<Compiler> {
    let known = |compiler: &Compiler| {
        let is_known = compiler.compile("").is_empty();
        if !is_known {
            skip!("{clang} does not know -std={}", compiler.standard);
        }
        is_known
    };
    STANDARDS.into_iter().map(|standard| Compiler { clang, standard }).filter(known).collect()
}

/// Returns the C header of types, with assertions on their layout.
fn header_of(types: Builder) -> String {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("kernel.btf"), types.finish()).unwrap();
    let dump = run_in(dir.path(), ["btf", "dump", "kernel.btf", "--format", "c", "--assertions"]);
    assert_eq!(dump.exit, 0, "{dump:?}");
    dump.out
}

/// Compiles a program with a header in all standards, and after other declarations of `bool`.
fn assert_compiles_in_all_standards(header: &str, program: &str) {
    for compiler in &*COMPILERS {
        for before in [
            "",
            "#include <stdbool.h>\n",
            "#define bool _Bool\n",
            "#define bool _Bool\n#define true 1\n#define false 0\n",
        ] {
            if compiler.is_for_cpp() && before.contains("_Bool") {
                continue;
            }
            let errors = compiler.compile(&[before, header, program].concat());
            assert_eq!(errors, "", "{} {} {before}", compiler.clang, compiler.standard);
        }
    }
}

/// Sources in the older standards define `bool`, `true` and `false`, newer ones have the words. Linux 5.10
/// has a member `bool`, and Linux 5.18 has `restrict` pointers.
#[test]
fn one_header_compiles_in_all_standards_of_the_language() {
    let mut b = Builder::new(Endian::Little);
    let boolean = b.int("_Bool", 1, Builder::BOOL);
    let int = b.int("unsigned int", 4, 0);
    let synonym = b.typedef("bool", boolean);
    b.enumeration("", 4, &[("false", 0), ("true", 1)]);
    b.enumeration("states", 4, &[("other", 5), ("true", 7)]);
    let pointer = b.pointer(int);
    let restricted = b.modifier(Kind::Restrict, pointer);
    let function = b.func_proto(int, &[("a", restricted), ("b", restricted)]);
    let function = b.pointer(function);
    b.structure("node", 16, &[("bool", int, 0), ("is_on", synonym, 32), ("copy", function, 64)]);
    let program =
        "int f(struct node *node) { bool is_on = node->is_on; return is_on == true ? other : false; }\n";
    assert_compiles_in_all_standards(&header_of(b), program);
}

/// The declarations that only look like those of the language: `bool` of another type, and `true` in an enum
/// within a typedef.
#[test]
fn kernels_with_another_bool_compile_in_all_standards() {
    let mut b = Builder::new(Endian::Little);
    let byte = b.int("unsigned char", 1, 0);
    let anonymous = b.enumeration("", 4, &[("false", 0), ("true", 1)]);
    let boolean = b.typedef("boolean_t", anonymous);
    let synonym = b.typedef("bool", byte);
    b.structure("node", 8, &[("state", boolean, 0), ("is_on", synonym, 32)]);
    let header = header_of(b);
    assert_compiles_in_all_standards(
        &header,
        "int f(struct node *node) { return node->is_on + (int)node->state; }\n",
    );
    let mut b = Builder::new(Endian::Little);
    let byte = b.int("unsigned char", 1, 0);
    let tag = b.structure("bool", 1, &[("is_on", byte, 0)]);
    b.structure("holder", 1, &[("tag", tag, 0)]);
    let tags = header_of(b);
    assert_compiles_in_all_standards(&tags, "int f(struct holder *holder) { return holder->tag.is_on; }\n");
    // The names before C23.
    let program = "int g(struct node *node) { bool is_on = node->is_on; return is_on == true; }\n";
    let of_tag = "int g(struct bool *tag) { return tag->is_on; }\n";
    for compiler in COMPILERS.iter().filter(|compiler| ["c89", "gnu11", "c17"].contains(&compiler.standard)) {
        for (header, program) in [(&header, program), (&tags, of_tag)] {
            let errors = compiler.compile(&[header, program].concat());
            assert_eq!(errors, "", "{} {}", compiler.clang, compiler.standard);
        }
    }
}

/// A kernel with what objects have no trace of: enumerators, typedefs, members that only unused functions
/// read.
const SMALL_KERNEL: &str = "
typedef _Bool bool;
typedef unsigned int __u32, dev_t;
enum { false, true } c;
enum { TCP_FIRST = 7, TCP_SECOND } d;
enum softirq { NR_SOFTIRQS = 10 };
struct disk { dev_t number; };
struct device { struct disk *disk; struct unused *unused; };
struct bio { struct device *device; };
struct sock { int family; };
struct ops { int (*init)(struct sock *sk); char name[16]; };
struct unused { int x; };
bool a; dev_t b; enum softirq e; struct bio f; struct device g; struct disk h;
struct ops i; struct unused j; struct sock k; __u32 l;
";
const LIVE_CODE: &str = "
#include \"vmlinux.h\"
#define SEC(name) __attribute__((section(name), used))
const volatile bool is_on = false;
dev_t last;
SEC(\"struct_ops\") int init(struct sock *sk) { return sk->family == TCP_SECOND && is_on == true; }
SEC(\".struct_ops\") struct ops own_ops = { .init = init, .name = \"own\" };
";
/// What only a source tells.
const UNTRACED_CODE: &str = "
int counts[NR_SOFTIRQS];
static inline dev_t number(struct bio *bio) { return bio->device->disk->number; }
";

#[test]
fn programs_compile_with_the_header_of_their_source_or_object() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let to_object = |source: &str, object: &str| {
        let Some(clang) = clang() else { return false };
        let mut clang = clang.command();
        clang.args(["-target", "bpf", "-g", "-O2", "-c", source, "-o", object]).current_dir(dir.path());
        clang.status().is_ok_and(|status| status.success())
    };
    let whole = format!("{LIVE_CODE}{UNTRACED_CODE}");
    fs::write(path("kernel.c"), SMALL_KERNEL).unwrap();
    fs::write(path("whole.bpf.c"), &whole).unwrap();
    fs::write(path("live.bpf.c"), LIVE_CODE).unwrap();
    if !to_object("kernel.c", "kernel.o") {
        skip!(Clang, "no clang");
        return;
    }
    let generate = |input: &str| {
        let run = run_in(dir.path(), ["gen", "vmlinux", input, "--btf", "kernel.o", "-o", "vmlinux.h"]);
        assert_eq!((run.exit, &*run.err), (0, ""), "{input}");
        fs::read_to_string(path("vmlinux.h")).unwrap()
    };
    let header = generate("whole.bpf.c");
    assert!(!header.contains("struct unused {"), "{header}");
    // The source includes the header of the run before.
    assert_eq!(generate("whole.bpf.c"), header);
    assert_compiles(&whole.replace("inline", "inline __attribute__((unused))"), dir.path());
    assert!(to_object("live.bpf.c", "live.bpf.o"));
    generate("live.bpf.o");
    assert_compiles(LIVE_CODE, dir.path());

    fs::write(path("bad.bpf.c"), "#include \"absent.h\"\n").unwrap();
    let bad = run_in(dir.path(), ["gen", "vmlinux", "bad.bpf.c", "--btf", "kernel.o"]);
    assert_eq!((bad.exit, &*bad.out), (2, ""));
    assert!(bad.err.contains("absent.h") && bad.err.contains("--clang-arg=-I"), "{}", bad.err);
    // The lines of clang are lines, which a CI runner does not take for commands.
    assert!(bad.err.contains("\n  | bad.bpf.c:1:10: ") && !bad.err.contains("\\n"), "{}", bad.err);
    for (text, help) in [
        ("#error define MODE\n", Some("--clang-arg=-D")),
        ("#error the registers depend on the machine\n", Some("--clang-arg=-D")),
        ("#include <asm/absent.h>\n", Some("install the kernel's headers")),
        ("#if\n", None),
        ("#else\n", None),
    ] {
        fs::write(path("bad.bpf.c"), text).unwrap();
        let bad = run_in(dir.path(), ["gen", "vmlinux", "bad.bpf.c", "--btf", "kernel.o"]);
        assert_eq!(bad.exit, 2, "{text}");
        assert_eq!(bad.err.contains("--clang-arg"), help.is_some(), "{text}: {}", bad.err);
        assert!(help.is_none_or(|help| bad.err.contains(help)), "{text}: {}", bad.err);
        // That is the help for build scripts.
        assert!(!bad.err.contains("Builder::"), "{text}: {}", bad.err);
    }
    let missing = run_in(dir.path(), ["gen", "vmlinux", "absent.bpf.c", "--btf", "kernel.o"]);
    assert!(missing.exit == 2 && !missing.err.contains("clang"), "{missing:?}");
}

/// The header of two sources lacked all that one of them defines, and the other one did not compile.
#[test]
fn what_one_source_defines_is_in_the_header_for_another() {
    let dir = tempfile::tempdir().unwrap();
    if !has_clang(dir.path()) {
        return;
    }
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    b.structure("key", 4, &[("number", int, 0)]);
    fs::write(dir.path().join("kernel.btf"), b.finish()).unwrap();
    fs::write(dir.path().join("owner.bpf.c"), "struct key { char own[3]; };\n").unwrap();
    let user = "#include \"vmlinux.h\"\nint number(struct key *key) { return key->number; }\n";
    fs::write(dir.path().join("user.bpf.c"), user).unwrap();
    let generate = |inputs: &[&str]| {
        let command = [&["gen", "vmlinux", "--btf", "kernel.btf", "-o", "vmlinux.h"], inputs].concat();
        let run = run_in(dir.path(), command);
        assert_eq!(run.exit, 0, "{run:?}");
        run.err
    };
    let notes = generate(&["user.bpf.c", "owner.bpf.c"]);
    assert_compiles(user, dir.path());
    assert!(notes.contains("owner.bpf.c: defines `key`, as the header does"), "{notes}");
    assert!(!notes.contains("user.bpf.c"), "{notes}");
    assert_eq!(generate(&["user.bpf.c"]), "");
    assert_compiles(user, dir.path());
    assert_eq!(generate(&["owner.bpf.c"]), "");
}

/// A source sees the registers of the kernel that the header is for, not those of this machine.
#[test]
fn sources_are_read_for_the_architecture_of_the_kernel() {
    let dir = tempfile::tempdir().unwrap();
    let source = "
#include <linux/types.h>
#if defined(__TARGET_ARCH_arm64) && defined(__BPF__)
struct on_arm *arm;
#endif
#if defined(__TARGET_ARCH_s390) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
struct on_s390 *s390;
#endif
#ifdef __TARGET_ARCH_x86
struct on_x86 *x86;
#endif
";
    // clang takes such names for an option, and for a file with arguments.
    for name in ["-x.bpf.c", "@x.bpf.c"] {
        fs::write(dir.path().join(name), source).unwrap();
    }
    if !has_clang(dir.path()) {
        return;
    }
    let kernels = [
        ("orig_x0", Endian::Little, "on_arm"),
        ("orig_gpr2", Endian::Big, "on_s390"),
        ("r15", Endian::Little, "on_x86"),
    ];
    for (register, endian, expected) in kernels {
        let mut b = Builder::new(endian);
        let long = b.int("unsigned long", 8, 0);
        b.structure("pt_regs", 8, &[(register, long, 0)]);
        for name in ["on_arm", "on_s390", "on_x86"] {
            b.structure(name, 8, &[("member", long, 0)]);
        }
        fs::write(dir.path().join("kernel.btf"), b.finish()).unwrap();
        for name in ["-x.bpf.c", "@x.bpf.c"] {
            let run = run_in(dir.path(), ["gen", "vmlinux", "--btf", "kernel.btf", "--", name]);
            assert_eq!(run.exit, 0, "{run:?}");
            for name in ["on_arm", "on_s390", "on_x86"] {
                let is_declared = run.out.contains(&format!("struct {name} {{"));
                assert_eq!(is_declared, name == expected, "{register}: {}", run.out);
            }
        }
    }
}

/// A child process that ends with the test, which waits for nothing without a limit.
struct LimitedChild(Child);

impl LimitedChild {
    /// Waits until `look` returns a value.
    fn wait_for<T>(&mut self, what: &str, mut look: impl FnMut(&mut Child) -> Option<T>) -> T {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            if let Some(found) = look(&mut self.0) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{what} takes too long");
    }
}

impl Drop for LimitedChild {
    fn drop(&mut self) {
        let _killed = self.0.kill();
        let _status = self.0.wait();
    }
}

/// A terminal sends a signal to clang, too; a service manager may send it to the command alone. A test that
/// runs in the background of a shell ignores SIGINT, and so do its children.
#[test]
fn a_signal_stops_clang_and_leaves_no_directory_of_headers() {
    let signal = Signal::TERM;
    for is_for_group in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let temporary = dir.path().join("temporary");
        fs::create_dir(&temporary).unwrap();
        // clang waits for the text of the pipe.
        let pipe = dir.path().join("pipe.h");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        fs::write(dir.path().join("waits.bpf.c"), "#include \"pipe.h\"\n").unwrap();
        let errors = dir.path().join("errors");
        let mut command = Command::new(env!("CARGO_BIN_EXE_core-relo"));
        command.args(["gen", "vmlinux", "waits.bpf.c", "--btf", text(&demo().join(KERNEL))]);
        command.current_dir(dir.path()).env("TMPDIR", &temporary).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&errors).unwrap());
        let mut child = LimitedChild(command.spawn().unwrap());
        // A pipe can be opened so only if somebody reads.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let writer = child.wait_for("the start of clang", |child| {
            let has_ended = child.try_wait().unwrap().is_some();
            rustix::fs::open(&pipe, flags, Mode::empty())
                .map_or(has_ended.then_some(None), |pipe| Some(Some(pipe)))
        });
        if writer.is_none() {
            let errors = fs::read_to_string(&errors).unwrap();
            assert!(errors.contains("no clang"), "{errors}");
            skip!(Clang, "no clang");
            return;
        }
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
        let pid = Pid::from_child(&child.0);
        if is_for_group {
            rustix::process::kill_process_group(pid, signal).unwrap();
        } else {
            rustix::process::kill_process(pid, signal).unwrap();
        }
        let status = child.wait_for("the end by a signal", |child| child.try_wait().unwrap());
        assert_eq!(status.signal(), Some(signal.as_raw()), "{}", fs::read_to_string(&errors).unwrap());
        let left: Vec<_> = fs::read_dir(&temporary).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?}");
        // clang has ended, too: nobody reads any more.
        child.wait_for("the end of clang", |_| rustix::fs::open(&pipe, flags, Mode::empty()).err());
    }
}

#[test]
fn bad_input_leaves_the_old_header() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("vmlinux.h");
    let old = "#ifndef __VMLINUX_H__\n#define __VMLINUX_H__\n\n#ifndef BPF_NO_PRESERVE_ACCESS_INDEX\n";
    fs::write(&out, old).unwrap();
    fs::copy(demo().join(KERNEL), dir.path().join("kernel.btf")).unwrap();
    fs::copy(demo().join("exec.bpf.o"), dir.path().join("exec.bpf.o")).unwrap();
    let kernel = fs::read(dir.path().join("kernel.btf")).unwrap();
    fs::write(dir.path().join("cut.btf"), kernel.get(..kernel.len() / 2).unwrap()).unwrap();
    let object = fs::read(dir.path().join("exec.bpf.o")).unwrap();
    fs::write(dir.path().join("cut.bpf.o"), object.get(..object.len() / 2).unwrap()).unwrap();
    for (object, kernel, named) in [
        ("absent.bpf.o", "kernel.btf", "absent.bpf.o"),
        ("cut.bpf.o", "kernel.btf", "cut.bpf.o"),
        ("kernel.btf", "kernel.btf", "kernel.btf"),
        ("exec.bpf.o", "cut.btf", "cut.btf"),
        ("exec.bpf.o", "absent.btf", "absent.btf"),
    ] {
        let run = run_in(dir.path(), ["gen", "vmlinux", object, "--btf", kernel, "-o", "vmlinux.h"]);
        assert_eq!((run.exit, &*run.out), (2, ""), "{object} {kernel}");
        assert!(run.err.starts_with("core-relo: ") && run.err.contains(named), "{}", run.err);
        assert_eq!(fs::read_to_string(&out).unwrap(), old, "{object} {kernel}");
    }
    let files = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files, 5, "no temporary file stays");
}
