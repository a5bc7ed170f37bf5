//! The names that programs take from libbpf's headers are there, and mean the same.

use crate::compile::{CLANGS, Compilation, compile, include, skip_without};
use core::fmt::Write as _;
use core_relo_object::object::Object;
use core_relo_test_support::{Clang, skip};
use std::{fs, process::Command};

/// The names of libbpf's headers that ours define: see the file.
const NAMES: &str = include_str!("names.txt");

/// The machines whose registers differ most: in names, in types, and in where argument 1 of a system call is.
const MACHINES: [&str; 4] = ["x86", "arm64", "s390", "riscv"];

/// The headers that programs include. Others are their parts.
const HEADERS: [&str; 9] = [
    "bpf/bpf_arena_common.h",
    "bpf/bpf_core_read.h",
    "bpf/bpf_endian.h",
    "bpf/bpf_experimental.h",
    "bpf/bpf_helpers.h",
    "bpf/bpf_tracing.h",
    "bpf/bpf_types.h",
    "bpf/usdt.bpf.h",
    "core_relo.h",
];

/// The guards of the kernel's headers, and other macros of sources that bring their types.
const GUARDS: [&str; 7] = [
    "__VMLINUX_H__",
    "__LINUX_BPF_H__",
    "_UAPI__LINUX_BPF_H__",
    "_LINUX_TYPES_H",
    "_UAPI_LINUX_TYPES_H",
    "__KERNEL__",
    "BPF_NO_TYPES",
];

/// Compiles a text, with the arguments of the other programs. Returns `None` without the compiler.
fn compile_text(clang: &Clang, text: &str, machine: &str) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("text.bpf.c");
    fs::write(&source, text).unwrap();
    Compilation { source, ..Compilation::new(clang, "", "bpf", machine) }.run()
}

/// Returns a program that does not compile if a name is missing, or an enumerator has another number.
fn program_of_names(machine: &str) -> String {
    let mut text = String::from("#include <bpf/bpf_helpers.h>\n#include \"registers.h\"\n");
    writeln!(text, "#include <bpf/bpf_endian.h>\n#include <bpf/usdt.bpf.h>").unwrap();
    for line in NAMES.lines().filter(|line| !line.starts_with('#')) {
        let (kind, name) = line.split_once(' ').unwrap();
        match kind {
            "header" => assert!(include().join("bpf").join(name).exists(), "{name}"),
            "macro" => writeln!(text, "#ifndef {name}\n#error {name}\n#endif").unwrap(),
            "type" => writeln!(text, "_Static_assert(sizeof({name}) > 0, \"\");").unwrap(),
            "symbol" => writeln!(text, "_Static_assert(sizeof(&{name}) == 8, \"\");").unwrap(),
            "enumerator" => {
                let (name, number) = name.split_once(' ').unwrap();
                writeln!(text, "_Static_assert({name} == {number}, \"\");").unwrap();
            }
            _ => assert_eq!(kind, "", "{line}"),
        }
    }
    writeln!(text, "#ifndef bpf_target_{machine}\n#error bpf_target_{machine}\n#endif").unwrap();
    text
}

#[test]
fn names_of_libbpf_are_defined_for_each_machine() {
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        for machine in MACHINES {
            compiled += usize::from(compile_text(clang, &program_of_names(machine), machine).is_some());
        }
    }
    skip_without(compiled);
}

/// The programs check by assertions what the names mean.
#[test]
fn names_below_the_documented_macros_mean_what_they_mean_in_libbpf() {
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        for (target, machine) in [("bpfel", "x86"), ("bpfel", "arm64"), ("bpfeb", "s390"), ("bpfel", "riscv")]
        {
            compiled += usize::from(compile(clang, "names", target, machine).is_some());
        }
    }
    skip_without(compiled);
}

/// Without GNU extensions, a comma before an empty list of arguments stays, and would count as an argument.
#[test]
fn macros_without_arguments_compile_in_strict_c() {
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        for name in ["macros", "names", "tracing", "usdt"] {
            let arguments = vec!["-std=c17".to_owned()];
            let program = Compilation { arguments, ..Compilation::new(clang, name, "bpf", "x86") };
            compiled += usize::from(program.run().is_some());
        }
    }
    skip_without(compiled);
}

#[test]
fn macros_of_objects_lists_trees_loops_and_arenas_compile() {
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        for (target, machine) in [("bpfel", "x86"), ("bpfel", "arm64"), ("bpfeb", "s390")] {
            for name in ["experimental", "arena"] {
                compiled += usize::from(compile(clang, name, target, machine).is_some());
            }
        }
    }
    skip_without(compiled);
}

#[test]
fn each_header_compiles_without_others_before_it() {
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        for header in HEADERS {
            // The functions of usdt.bpf.h read registers.
            let registers = if header == "bpf/usdt.bpf.h" { "#include \"registers.h\"\n" } else { "" };
            let text = format!("{registers}#include <{header}>\nint defined;\n");
            compiled += usize::from(compile_text(clang, &text, "x86").is_some());
        }
    }
    skip_without(compiled);
}

/// A second definition of a type is an error: in a kernel tree, `<linux/bpf.h>` has another guard than where
/// it is installed, and sources with types of their own include only `<linux/types.h>`.
#[test]
fn types_of_the_source_are_kept() {
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        for guard in GUARDS {
            let arguments = vec![format!("-D{guard}")];
            let program = Compilation { arguments, ..Compilation::new(clang, "own_types", "bpf", "x86") };
            compiled += usize::from(program.run().is_some());
        }
    }
    skip_without(compiled);
}

/// The macros of registers are errors only where they are used.
#[test]
fn programs_that_read_no_registers_need_no_machine() {
    let source = "#include <bpf/bpf_tracing.h>\n\
                  SEC(\"tp_btf/sched_switch\") int BPF_PROG(on_switch, int a) { return a; }\n";
    let compiled = CLANGS.iter().filter(|clang| compile_text(clang, source, "none").is_some()).count();
    skip_without(compiled);
}

/// GCC takes no pragmas between a section and a declaration. GCC before 14 cannot call helpers through their
/// pointers.
#[test]
fn gcc_compiles_sections_maps_and_arguments() {
    let source = "#include <bpf/bpf_tracing.h>\n\
                  struct {\n\
                      __uint(type, BPF_MAP_TYPE_ARRAY);\n\
                      __uint(max_entries, 1);\n\
                      __type(key, __u32);\n\
                      __type(value, __u64);\n\
                  } counts SEC(\".maps\");\n\
                  struct outer { int number; } __attribute__((preserve_access_index));\n\
                  SEC(\"fentry/f\") int BPF_PROG(on_call, struct outer *outer, int a) { return outer->number + a; }\n\
                  char _license[] SEC(\"license\") = \"GPL\";\n";
    let dir = tempfile::tempdir().unwrap();
    let (file, object) = (dir.path().join("text.bpf.c"), dir.path().join("text.o"));
    fs::write(&file, source).unwrap();
    let mut command = Command::new("bpf-gcc");
    command.args(["-gbtf", "-O2", "-mco-re", "-Wall", "-Werror", "-I"]).arg(include());
    let Ok(output) = command.arg("-c").arg(&file).arg("-o").arg(&object).output() else {
        skip!("no bpf-gcc");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = fs::read(&object).unwrap();
    assert_eq!(Object::parse(&bytes).unwrap().programs().len(), 1);
}

#[test]
fn registers_of_a_volatile_context_are_read_as_often_as_the_source_says() {
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        let Some(bytes) = compile(clang, "volatile", "bpf", "x86") else { continue };
        let object = Object::parse(&bytes).unwrap();
        let code = object.code_sections()[0].code;
        // BPF_LDX | BPF_MEM | BPF_DW is the first byte of an instruction.
        let loads = code.chunks(8).filter(|insn| insn.first() == Some(&0x79)).count();
        assert_eq!(loads, 2, "{clang}");
        compiled += 1;
    }
    skip_without(compiled);
}
