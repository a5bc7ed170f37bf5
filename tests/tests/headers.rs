//! Programs that are compiled with a header of `CHeader` find the members of members without a name, in
//! whichever form the kernel has them.
//!
//! Linux 7.0 and later are built with `-fms-extensions`: `struct filename` has a member without a name whose
//! type is the named `struct __filename_head`. The header writes the members of that struct as a struct
//! without a name.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use core_relo::{
    Plan, Target,
    btf::{Btf, CHeader},
};
use core_relo_loader::object::Object;
use core_relo_test_support::{clang, skip};
use core_relo_tests::artifacts;
use std::{fs, path::Path, sync::Arc};

/// The types of a kernel, with members without a name of named and of qualified types.
const KERNEL: &str = "
struct head { const char *name; int refcnt; };
struct filename { struct head; char iname[64]; };
union index { unsigned long both; struct { unsigned int head, tail; }; };
struct pipe { long mutex; union index; int ring; };
typedef struct { long raw; } lock;
struct queue { int count; lock; };
struct fault { const struct { long vma; int gfp; long address; }; int flags; };
";
/// The same members with other offsets, in structs without a name.
const OTHER_KERNEL: &str = "
struct filename { long added; struct { int refcnt; const char *name; }; char iname[64]; };
struct pipe { union { unsigned long both; struct { unsigned int head, tail; }; }; long mutex; int ring; };
struct queue { struct { long raw; }; int count; };
struct fault { int flags; struct { long vma; long address; int gfp; }; };
";
const VARIABLES: &str = "
struct filename a; struct pipe b; struct queue c; struct fault d;
";
const PROGRAM: &str = "
__attribute__((section(\"raw_tp\"))) int reads(void *ctx)
{
	struct filename *a = ctx; struct pipe *b = ctx; struct queue *c = ctx; struct fault *d = ctx;
	return (long)a->name + a->refcnt + b->tail + b->both + c->raw + d->address + d->gfp;
}
";
/// Members of types that Linux 7.2 has and that contain members without a name.
const REAL_PROGRAM: &str = "
__attribute__((section(\"raw_tp\"))) int reads(void *ctx)
{
	struct filename *a = ctx; struct pipe_inode_info *b = ctx; struct vm_fault *c = ctx; struct aes_key *d = ctx;
	struct ns_common *e = ctx;
	return (long)a->name + b->head + c->address + d->len + e->ns_id;
}
";

/// Compiles a source for BPF in a directory. Returns `None` without a clang.
fn compile(dir: &Path, source: &str, flags: &[&str]) -> Option<Vec<u8>> {
    fs::write(dir.join("source.c"), source).unwrap();
    let mut clang = clang()?.command();
    clang.args(["-target", "bpf", "-g", "-O2", "-Wall", "-Werror", "-c", "source.c", "-o", "object.o"]);
    let output = clang.args(flags).current_dir(dir).output().ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:.3000}", errors);
    Some(fs::read(dir.join("object.o")).unwrap())
}

/// Returns the offsets that the accesses of an object have in a kernel's BTF. All must be found.
fn target_offsets(object: &[u8], kernel: Btf<'static>) -> Vec<Option<u64>> {
    let object = Object::parse(object).unwrap();
    let relocs = object.relocs().unwrap();
    let kernel = Target::new("vmlinux", Arc::new(kernel));
    let plan = Plan::new(&relocs, &kernel);
    plan.iter()
        .map(|planned| {
            assert!(planned.decision().is_ok(), "{:?}: {:?}", planned.record(), planned.decision());
            planned.target_value()
        })
        .collect()
}

fn btf_of(object: &[u8]) -> Btf<'static> {
    Btf::parse(Object::parse(object).unwrap().btf().unwrap().as_bytes().to_vec()).unwrap()
}

/// Returns a program's source after the header of a kernel.
fn with_header(kernel: &Btf<'_>, program: &str) -> String {
    format!("{}{program}", CHeader::new(kernel).assertions(true))
}

#[test]
fn accesses_are_relocated_between_both_forms() {
    let dir = tempfile("forms");
    let extensions = ["-fms-extensions", "-Wno-microsoft-anon-tag"];
    let Some(named) = compile(&dir, &format!("{KERNEL}{VARIABLES}"), &extensions) else {
        return skip!(Clang, "no clang");
    };
    let named = btf_of(&named);
    let other = btf_of(&compile(&dir, &format!("{OTHER_KERNEL}{VARIABLES}"), &[]).unwrap());
    let from_header = compile(&dir, &with_header(&named, PROGRAM), &[]).unwrap();
    assert_eq!(target_offsets(&from_header, named), [0, 8, 12, 8, 8, 16, 8].map(Some));
    assert_eq!(target_offsets(&from_header, other), [16, 8, 4, 0, 0, 16, 24].map(Some));

    // The other direction: the program has the named form, the kernel that of the header.
    let attribute =
        "#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)\n";
    let source = format!("{attribute}{KERNEL}\n#pragma clang attribute pop\n{PROGRAM}");
    let named = compile(&dir, &source, &extensions).unwrap();
    let header = btf_of(&compile(&dir, &with_header(&btf_of(&from_header), VARIABLES), &[]).unwrap());
    assert_eq!(target_offsets(&named, header), [0, 8, 12, 8, 8, 16, 8].map(Some));
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn members_of_linux_7_2_are_found() {
    let kernel = artifacts::kernels().join("amd64-7.2.13-cloud.btf");
    let Ok(bytes) = fs::read(&kernel) else {
        return skip!(Kernels, "no BTF of Linux 7.2 (cargo xtask kernels)");
    };
    let kernel = Btf::parse(bytes).unwrap();
    let dir = tempfile("linux-7.2");
    let Some(object) = compile(&dir, &with_header(&kernel, REAL_PROGRAM), &[]) else {
        return skip!(Clang, "no clang");
    };
    let compiled: Vec<_> = {
        let parsed = Object::parse(&object).unwrap();
        let relocs = parsed.relocs().unwrap();
        let itself = Target::new("object", Arc::new(btf_of(&object)));
        Plan::new(&relocs, &itself).iter().map(|planned| planned.target_value()).collect()
    };
    assert_eq!(compiled.len(), 5);
    assert_eq!(target_offsets(&object, kernel), compiled);
    fs::remove_dir_all(dir).unwrap();
}

fn tempfile(name: &str) -> std::path::PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("headers-{name}"));
    fs::create_dir_all(&dir).unwrap();
    dir
}
