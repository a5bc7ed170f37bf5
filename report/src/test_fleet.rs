//! A small fleet for the tests of reports.

use crate::model::{FleetReport, Row, UnjudgedInput};
use core_relo_verdict::{
    SourceLine,
    judge::{ObjectVerdict, ProgramVerdict, Reason, ReasonKind, Verdict},
    kernel::{DistributionKernel, Evidence, EvidenceSource, KernelVersion},
};
use std::sync::Arc;

/// A name that tries to leave every format.
pub(super) const HOSTILE: &str =
    "<script>alert(1)</script>`|]]>\"'&\u{1b}[2J\n# @team [x](http://example.com) \u{202e}-->";

pub(super) const fn version(major: u8, minor: u8, patch: u16) -> KernelVersion {
    KernelVersion { major, minor, patch }
}

pub(super) fn loads() -> ObjectVerdict {
    ObjectVerdict::new(vec![ProgramVerdict::new("main", Vec::new())])
}

pub(super) fn row(
    object: &str,
    kernel: &str,
    architecture: Option<&str>,
    kernel_version: Option<KernelVersion>,
    verdict: ObjectVerdict,
) -> Row {
    let architecture = architecture.map(str::to_owned);
    Row { kernel_version, architecture, ..Row::new(object, kernel, Ok(Arc::new(verdict))) }
}

/// Creates the row of an object on an x86-64 kernel of a distribution.
pub(super) fn package_row(
    object: &str,
    distribution: &str,
    release: &str,
    version: KernelVersion,
    verdict: ObjectVerdict,
) -> Row {
    let name = format!("{distribution}:{release}/{}", crate::labels::full_version(version));
    let package = format!("{}-1", crate::labels::full_version(version));
    let distribution = DistributionKernel::new(distribution, release, package, "x86_64");
    Row { distribution, ..row(object, &name, Some("x86_64"), Some(version), verdict) }
}

pub(super) fn refused_row(object: &str, kernel: &str) -> Row {
    let reason = Reason::new(ReasonKind::MapType, Verdict::Refused, "map type arena is missing");
    let verdict = ObjectVerdict::new(vec![ProgramVerdict::new("main", vec![reason])]);
    row(object, kernel, None, None, verdict)
}

pub(super) fn bad_row(object: &str, kernel: &str) -> Row {
    let bad = UnjudgedInput::new(kernel, "is big-endian, expected little-endian")
        .with_help(Some("use the kernel of the object's machine".to_owned()));
    Row { outcome: Err(bad), ..refused_row(object, kernel) }
}

/// Creates the verdict on an object with three programs, one of which is not loaded by default.
fn tracer(release: KernelVersion, has_kfunc: bool) -> ObjectVerdict {
    let source = |line, text: &str| SourceLine {
        file: "/src/trace.bpf.c".into(),
        line,
        column: 9,
        text: text.into(),
        is_near: false,
    };
    let helper = || {
        let text =
            format!("enum bpf_func_id of {}.{} ends with BPF_FUNC_sys_bpf", release.major, release.minor);
        Reason::new(ReasonKind::Helper, Verdict::Refused, "helper bpf_loop is missing")
            .with_source(source(41, "\tbpf_loop(n, count, &ctx, 0);"))
            .with_evidence(Evidence { source: EvidenceSource::Btf, text })
            .with_fix("guard the call with bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)")
    };
    let size = || {
        Reason::new(ReasonKind::MapSize, Verdict::NeedsInput, "map `stacks` has no size")
            .with_fix("--max-entries stacks=N")
    };
    let kfunc = || {
        let evidence =
            Evidence { source: EvidenceSource::Kallsyms, text: "no symbol bpf_task_acquire".into() };
        Reason::new(ReasonKind::Kfunc, Verdict::Refused, "kfunc bpf_task_acquire is missing")
            .with_source(source(77, "bpf_task_acquire(task)"))
            .with_evidence(evidence)
    };
    let is_old = release < version(5, 15, 0);
    let exec = if is_old { vec![helper()] } else { vec![size()] };
    let exit = if is_old { vec![helper()] } else { Vec::new() };
    let rare = if has_kfunc { Vec::new() } else { vec![kfunc()] };
    ObjectVerdict::new(vec![
        ProgramVerdict::new("on_exec", exec),
        ProgramVerdict::new("on_exit", exit),
        ProgramVerdict::new("rare", rare).without_autoload(),
    ])
}

/// Creates the verdict on an object whose names come from an attacker.
fn hostile() -> ObjectVerdict {
    let source = SourceLine { file: HOSTILE.into(), line: 7, column: 0, text: HOSTILE.into(), is_near: true };
    let reason = Reason::new(ReasonKind::Relocation, Verdict::Refused, HOSTILE)
        .with_source(source)
        .with_evidence(Evidence { source: EvidenceSource::Btf, text: HOSTILE.into() })
        .with_fix(HOSTILE);
    ObjectVerdict::new(vec![ProgramVerdict::new(HOSTILE, vec![reason])])
}

/// Creates the report of four objects on six kernels of two architectures.
pub(super) fn fleet() -> FleetReport {
    let (x86, arm) = (Some("x86_64"), Some("arm64"));
    let kernels = [
        ("arm64/5.15.0.btf", arm, version(5, 15, 0)),
        ("arm64/6.1.0.btf", arm, version(6, 1, 0)),
        ("x86_64/5.4.17.btf", x86, version(5, 4, 17)),
        ("x86_64/5.10.3.btf", x86, version(5, 10, 3)),
        ("x86_64/5.15.0.btf", x86, version(5, 15, 0)),
        ("x86_64/6.1.0.btf", x86, version(6, 1, 0)),
    ];
    let mut rows = Vec::new();
    for (name, architecture, release) in kernels {
        let add = |object: &str, verdict| row(object, name, architecture, Some(release), verdict);
        rows.push(add("trace.bpf.o", tracer(release, architecture == arm)));
        rows.push(add("plain.bpf.o", loads()));
        rows.push(match architecture == arm {
            true => Row { outcome: bad_row("", name).outcome, ..add("big.bpf.o", loads()) },
            false => add("big.bpf.o", loads()),
        });
        rows.push(add(HOSTILE, hostile()));
    }
    let unread = vec![
        UnjudgedInput::new("broken.o", "is no ELF file: 3 bytes, expected at least 64"),
        UnjudgedInput::new(HOSTILE, HOSTILE).with_help(Some(HOSTILE.to_owned())),
    ];
    FleetReport { rows, unread, ..FleetReport::default() }
}
