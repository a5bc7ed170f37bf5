//! Headers for targets other than the machine that builds.

use super::reduced;
use crate::{BuildError, Builder, environment::Environment};
use core_relo::{Endian, TypeId, btf};
use core_relo_object::object::Object;
use core_relo_test_support::skip;
use std::{
    env, fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Reads the first argument of a function in user space, from the registers of arm64.
const SOURCE: &str = r#"
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#ifndef __TARGET_ARCH_arm64
#error "the target is arm64"
#endif

long first;

SEC("uprobe") int BPF_UPROBE(on_call, long argument)
{
	_Static_assert(sizeof(struct user_pt_regs) == 272, "the registers of arm64");
	_Static_assert(sizeof(struct xdp_md) == 4, "that of the BTF");
	_Static_assert(XDP_REDIRECT == 4 && BPF_TCP_LISTEN == 10, "those of the BTF");
	_Static_assert(XDP_PASS == 2 && BPF_TCP_CLOSE == 7, "those that the BTF lacks");
	_Static_assert(BPF_MAP_TYPE_RINGBUF == 27 && BPF_MAP_TYPE_HASH == 1, "of an enum that programs compare");
	first = argument + bpf_core_enum_value(enum xdp_action, XDP_REDIRECT);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
"#;

/// A build for a target, in a directory of its own.
struct Build {
    directory: TempDir,
    environment: Environment,
}

impl Build {
    fn new(arch: &str, is_big_endian: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment {
            out_dir: directory.path().to_path_buf(),
            manifest: None,
            arch: arch.to_owned(),
            is_big_endian,
            has_foreign_headers: false,
        };
        fs::write(directory.path().join("agent.bpf.c"), SOURCE).unwrap();
        Self { directory, environment }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Builds, and returns cargo's directives, or the message of the error. `None` where there is no clang.
    fn run(&self, types: impl FnOnce(Builder) -> Builder) -> Option<Result<String, String>> {
        let mut directives = Vec::new();
        let builder = types(Builder::new().source(self.directory.path().join("agent.bpf.c")));
        match builder.build_for(&self.environment, &mut directives) {
            Err(BuildError::NoClang { .. }) => {
                skip!(Clang, "no clang that compiles BPF programs");
                None
            }
            result => Some(result.map(|_| String::from_utf8(directives).unwrap()).map_err(|e| e.to_string())),
        }
    }

    fn error_of(&self, path: &Path) -> Option<String> {
        self.run(|builder| builder.vmlinux_of(path)).map(Result::unwrap_err)
    }
}

/// Returns reduced BTF of a kernel of arm64, as in an archive of minimal BTF.
fn arm64_kernel() -> Vec<u8> {
    arm64_types().finish()
}

/// Returns reduced BTF as for verdicts: it also has the types by which a kernel is recognised.
fn arm64_types_of_verdicts() -> btf::Builder {
    let mut b = arm64_types();
    let int = b.int("int", 4, 0);
    b.structure("__sk_buff", 4, &[("len", int, 0)]);
    b.union("bpf_attr", 4, &[("map_type", int, 0)]);
    b
}

fn arm64_types() -> btf::Builder {
    let mut b = btf::Builder::new(Endian::Little);
    let int = b.int("unsigned int", 4, 0);
    let long = b.int("unsigned long", 8, 0);
    b.typedef("__u32", int);
    let regs = b.array(long, int, 31);
    let members = [("regs", regs, 0), ("sp", long, 1984), ("pc", long, 2048), ("pstate", long, 2112)];
    let user = b.structure("user_pt_regs", 272, &members);
    b.structure("pt_regs", 280, &[("user_regs", user, 0), ("orig_x0", long, 2176)]);
    // Also in `bpf_types.h`.
    b.structure("xdp_md", 4, &[("rx_queue_index", int, 0)]);
    b.enumeration("xdp_action", 4, &[("XDP_REDIRECT", 4)]);
    b.enumeration("", 4, &[("BPF_TCP_LISTEN", 10)]);
    b.enumeration("bpf_map_type", 4, &[("BPF_MAP_TYPE_RINGBUF", 27)]);
    b
}

#[test]
fn the_header_and_the_registers_are_those_of_the_target() {
    let build = Build::new("aarch64", false);
    let types = build.write("arm64.btf", arm64_kernel());
    let Some(directives) = build.run(|builder| builder.vmlinux_of(&types)) else { return };
    let directives = directives.unwrap();
    assert!(directives.contains(&format!("cargo::rerun-if-changed={}", types.display())), "{directives}");
    assert!(!directives.contains("cargo::warning"), "{directives}");
    let object = fs::read(build.directory.path().join("agent.bpf.o")).unwrap();
    assert_eq!(Object::parse(&object).unwrap().endian(), Endian::Little);
}

/// `btf min --verdicts` keeps `union bpf_attr`, `enum bpf_map_type` and contexts, so that its BTF looks like
/// that of a whole kernel. `bpf_helpers.h` did not compile with it.
#[test]
fn types_for_verdicts_are_reduced_too() {
    let build = Build::new("aarch64", false);
    let types = build.write("arm64.btf", arm64_types_of_verdicts().finish());
    let Some(built) = build.run(|builder| builder.vmlinux_of(&types)) else { return };
    built.unwrap();
}

/// The header of a whole kernel brings no macros such as `TC_ACT_UNSPEC`, which programs define themselves.
#[test]
fn only_reduced_types_are_completed() {
    let missing = |b: btf::Builder| {
        let bytes = b.finish();
        let parsed = btf::Btf::parse(&bytes[..]).unwrap();
        reduced::missing_types(&parsed)
    };
    let whole = || {
        let mut b = arm64_types_of_verdicts();
        for name in reduced::headers().flat_map(reduced::typedefs) {
            b.typedef(name, TypeId::VOID);
        }
        b
    };
    assert_eq!(missing(whole()), "");
    assert!(missing(arm64_types_of_verdicts()).contains("bpf_types.h"), "by its missing typedefs");
    let mut marked = whole();
    marked.typedef("core_relo_minimal_btf_for_verdicts", TypeId::VOID);
    assert!(missing(marked).contains("bpf_types.h"), "by its mark");
}

#[test]
fn the_byte_order_is_that_of_the_target() {
    let build = Build::new("s390x", true);
    build.write("agent.bpf.c", "#ifndef __TARGET_ARCH_s390\n#error\n#endif\nint value;\n");
    let Some(built) = build.run(|builder| builder) else { return };
    built.unwrap();
    let object = fs::read(build.directory.path().join("agent.bpf.o")).unwrap();
    assert_eq!(Object::parse(&object).unwrap().endian(), Endian::Big);
}

#[test]
fn the_running_kernel_is_refused_for_a_foreign_target() {
    let foreign = if env::consts::ARCH == "aarch64" { "x86_64" } else { "aarch64" };
    let Some(result) = Build::new(foreign, false).run(Builder::vmlinux_of_running_kernel) else { return };
    let error = result.unwrap_err();
    for part in [env::consts::ARCH, &format!("the target is {foreign}"), "help: `Builder::vmlinux_of("] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn types_of_another_target_are_named_with_the_way_out() {
    let build = Build::new("x86_64", false);
    let Some(error) = build.error_of(&build.write("arm64.btf", arm64_kernel())) else { return };
    assert!(error.contains("the types of a kernel of aarch64, expected a kernel of x86_64"), "{error}");
    assert!(error.contains("help: ") && error.contains("CARGO_CFG_TARGET_ARCH"), "{error}");

    // Without registers, the byte order tells.
    let big = build.write("big.btf", btf::Builder::new(Endian::Big).finish());
    let error = build.error_of(&big).unwrap();
    assert!(error.contains("the types of a big-endian kernel, expected a kernel of x86_64"), "{error}");

    // Registers of one name, but of another size.
    let riscv = {
        let mut b = btf::Builder::new(Endian::Little);
        let long = b.int("unsigned long", 8, 0);
        b.int("long", 8, btf::Builder::SIGNED);
        b.structure("pt_regs", 8, &[("badaddr", long, 0)]);
        b.finish()
    };
    let riscv32 = Build::new("riscv32", false);
    let error = riscv32.error_of(&riscv32.write("riscv64.btf", riscv)).unwrap();
    assert!(error.contains("a kernel with words of 8 bytes, expected a kernel of riscv32"), "{error}");

    let error = build.error_of(&build.write("text", "int x;")).unwrap();
    assert!(error.contains("text: neither BTF nor ELF") && error.contains("help: "), "{error}");
    let error = build.error_of(&build.directory.path().join("absent.btf")).unwrap();
    assert!(error.contains("absent.btf: cannot read the kernel's types: No such file"), "{error}");

    let unknown = Build::new("hexagon", false);
    let error = unknown.error_of(&unknown.write("arm64.btf", arm64_kernel())).unwrap();
    assert!(error.contains("no vmlinux.h for the target hexagon") && error.contains("help: "), "{error}");
}

/// A source that reads registers says on which targets the builder does not know them.
#[test]
fn registers_of_an_unknown_target_are_named_with_the_way_out() {
    let build = Build::new("hexagon", false);
    let source = "#include <linux/bpf.h>\n#include <linux/ptrace.h>\n#include <bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n\
                  SEC(\"uprobe\") int BPF_UPROBE(on_call, long argument) { return argument; }\n";
    build.write("agent.bpf.c", source);
    // Distributions keep these headers apart; any machine's will do.
    let own_headers = format!("/usr/include/{}-linux-gnu", env::consts::ARCH);
    if !Path::new(&own_headers).join("asm/ptrace.h").exists() {
        return skip!("no kernel headers in {own_headers}");
    }
    let own_headers = format!("-idirafter{own_headers}");
    let Some(result) = build.run(|builder| builder.clang_arg(own_headers)) else { return };
    let error = result.unwrap_err();
    assert!(error.contains("help: the builder does not know the registers of cargo's target"), "{error}");
}

#[cfg(feature = "btf-archive")]
mod archives {
    use super::*;
    use core_relo_object::archive::{ArchiveEntry, INDEX_NAME, KernelIdentity, index_text};
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;

    /// Returns an archive of kernels: release, architecture and BTF.
    fn archive(kernels: &[(&str, &str, &[u8])]) -> Vec<u8> {
        let entry = |(release, architecture, _): &(&str, &str, &[u8])| {
            let kernel = KernelIdentity::new(*release, *architecture);
            let content = kernel.file_name();
            ArchiveEntry::new(kernel, content)
        };
        let entries: Vec<_> = kernels.iter().map(entry).collect();
        let mut tar = member(INDEX_NAME, index_text(&entries).as_bytes());
        for (entry, (_, _, btf)) in entries.iter().zip(kernels) {
            tar.extend(member(&entry.content, btf));
        }
        tar.extend([0; 1024]);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&tar).unwrap();
        encoder.finish().unwrap()
    }

    /// Returns a member of a tar archive.
    fn member(name: &str, content: &[u8]) -> Vec<u8> {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = b'0';
        header[257..262].copy_from_slice(b"ustar");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let mut member = [&header[..], content].concat();
        member.resize(member.len().next_multiple_of(512), 0);
        member
    }

    #[test]
    fn an_archive_gives_the_newest_kernel_of_the_target() {
        let build = Build::new("aarch64", false);
        let old = {
            let mut b = btf::Builder::new(Endian::Little);
            b.structure("old_kernel", 4, &[]);
            b.finish()
        };
        let new = arm64_kernel();
        let kernels: [(&str, &str, &[u8]); 3] = [
            ("6.12.9", "x86_64", &old),
            ("6.9.0-generic", "aarch64", &old),
            ("6.10.1-generic", "aarch64", &new),
        ];
        let types = build.write("kernels.tar.gz", archive(&kernels));
        let Some(built) = build.run(|builder| builder.vmlinux_of(&types)) else { return };
        built.unwrap();

        let types = build.write("kernels.tar.gz", archive(&kernels[..1]));
        let error = build.error_of(&types).unwrap();
        assert!(
            error.contains(
                "kernels.tar.gz: no kernel of aarch64, cargo's target: the archive has kernels of x86_64"
            ),
            "{error}"
        );
        assert!(error.contains("help: make the archive of kernels of the target"), "{error}");
        let error = build.error_of(&build.write("empty.tar.gz", archive(&[]))).unwrap();
        assert!(
            error.contains("no kernel of aarch64, cargo's target: the archive has no kernels\nhelp"),
            "{error}"
        );
        let error = build.error_of(&build.write("cut.tar.gz", &archive(&kernels)[..100])).unwrap();
        assert!(error.contains("cut.tar.gz: BTF archive: not a complete gzip stream"), "{error}");
    }
}
