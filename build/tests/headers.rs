//! The headers of `include/`: they stand alone, and mean what those of libbpf and the kernel mean.

use core_relo::insn::helper_name;
use core_relo_object::object::Object;
use std::{fs, path::Path, process::Command};

/// The programs, and their records in both byte orders. libbpf's headers give the same records, and the same instructions but for
/// BPF_KSYSCALL (clang 19, libbpf 1.1).
const PROGRAMS: [(&str, [usize; 2]); 2] = [("macros", [25, 26]), ("tracing", [20, 20])];

fn include() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

#[test]
fn the_macros_compile_without_a_warning_in_both_byte_orders() {
    let dir = tempfile::tempdir().unwrap();
    let mut compiled = 0;
    for clang in ["clang", "clang-14", "clang-16", "clang-19", "clang-21"] {
        for (name, target, records) in PROGRAMS
            .into_iter()
            .flat_map(|program| [(program.0, "bpfel", program.1[0]), (program.0, "bpfeb", program.1[1])])
        {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.bpf.c"));
            let object = dir.path().join(format!("{clang}.{target}.o"));
            let mut command = Command::new(clang);
            command.args([
                "-g",
                "-O2",
                "-mcpu=v3",
                "-D__TARGET_ARCH_x86",
                "-Wall",
                "-Wextra",
                "-Wno-unused-parameter",
                "-Werror",
                "-target",
                target,
            ]);
            command.arg("-I").arg(include()).arg("-c").arg(&source).arg("-o").arg(&object);
            let Ok(output) = command.output() else { continue };
            let errors = String::from_utf8_lossy(&output.stderr);
            if errors.contains("unknown target triple") || errors.contains("unable to create target") {
                continue;
            }
            assert!(output.status.success(), "{clang} {target}: {errors}");
            let bytes = fs::read(&object).unwrap();
            assert_eq!(
                Object::parse(&bytes).unwrap().relocs().unwrap().records().len(),
                records,
                "{clang} {name} {target}"
            );
            compiled += 1;
        }
    }
    if compiled == 0 {
        println!("SKIP: no clang that compiles BPF programs");
    }
}

#[test]
fn the_helpers_have_the_kernels_numbers() {
    let text = fs::read_to_string(include().join("bpf/bpf_helper_defs.h")).unwrap();
    let mut numbers = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("static ")) {
        let name = line.split("(*const bpf_").nth(1).unwrap().split(')').next().unwrap();
        let number: u32 = line.rsplit("(void *)").next().unwrap().trim_end_matches(';').parse().unwrap();
        assert_eq!(helper_name(number), Some(name));
        numbers.push(number);
    }
    assert_eq!(numbers, (1..=211).collect::<Vec<_>>());
}
