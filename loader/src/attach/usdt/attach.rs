//! Attaching a program to a USDT probe.

use super::{
    super::{
        binary_path::resolve,
        error::AttachError,
        link::{Attachment, Link},
        pmu::resolve_pid,
        uprobe::{self, UprobeOptions},
        uprobe_multi::{self, UprobeMultiOptions},
    },
    args::Arg,
    manager::{SpecLease, UsdtManager},
    probe::{Probe, UsdtFeatures, find_probes},
};
use crate::sys::Errno;
use std::{
    collections::HashMap,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::Path,
};

/// The options of a USDT probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct UsdtOptions {
    /// The value that `bpf_usdt_cookie` returns.
    pub cookie: u64,
    /// The process, 0 for the calling process. `None` probes every process that maps the file.
    pub pid: Option<u32>,
}

/// Attaches a program to all locations of a USDT probe in a binary (libbpf: `bpf_program__attach_usdt`).
pub(in crate::attach) fn usdt(
    prog: BorrowedFd<'_>,
    manager: &UsdtManager,
    binary: impl AsRef<Path>,
    provider: &str,
    name: &str,
    options: &UsdtOptions,
) -> Result<Link, AttachError> {
    let label = format!("usdt/{}:{provider}:{name}", binary.as_ref().display());
    let path = resolve(binary.as_ref(), options.pid, &label)?;
    let options = &UsdtOptions { pid: resolve_pid(options.pid), ..*options };
    let probes = find_probes(&path, provider, name, options.pid, manager.features())?;
    let mut lease = manager.lease();
    // Probes with the same arguments share a specification.
    let mut spec_ids: HashMap<&[Arg], u32> = HashMap::new();
    let mut ids = Vec::with_capacity(probes.len());
    for probe in &probes {
        let id = match spec_ids.get(probe.args.as_slice()) {
            Some(id) => *id,
            None => lease.add(&probe.args, options.cookie, &label)?,
        };
        spec_ids.insert(&probe.args, id);
        lease.map_address(probe.address, id, &label)?;
        ids.push(id);
    }
    let links = attach_probes(prog, &path, &probes, &ids, options, manager.features(), &label)?;
    Ok(Link::new(UsdtAttachment { links, lease: Some(lease) }, label))
}

/// Attaches by one link or, if the kernel or the program does not support `uprobe.multi`, by one link for
/// each location.
fn attach_probes(
    prog: BorrowedFd<'_>,
    path: &Path,
    probes: &[Probe],
    ids: &[u32],
    options: &UsdtOptions,
    features: UsdtFeatures,
    label: &str,
) -> Result<ProbeLinks, AttachError> {
    let offsets: Vec<u64> = probes.iter().map(|p| p.offset).collect();
    let semaphores: Vec<u64> = probes.iter().map(|p| p.semaphore).collect();
    let cookies: Vec<u64> = ids.iter().copied().map(u64::from).collect();
    let multi = UprobeMultiOptions {
        pid: options.pid,
        cookies: &cookies,
        ref_ctr_offsets: &semaphores,
        ..UprobeMultiOptions::default()
    };
    if features.uprobe_multi && is_uprobe_multi_program(prog, label)? {
        let link = uprobe_multi::create_link(prog, path, &offsets, &multi, label)?;
        let link = link.map_err(|errno| AttachError::kernel(label, "attach", errno))?;
        return Ok(ProbeLinks::Multi(Some(link)));
    }
    let mut links = Vec::with_capacity(probes.len());
    for (probe, cookie) in probes.iter().zip(&cookies) {
        let options = UprobeOptions {
            pid: options.pid,
            ref_ctr_offset: probe.semaphore,
            cookie: if features.cookies { *cookie } else { 0 },
            ..UprobeOptions::default()
        };
        links.push(uprobe::attach_at_offset(prog, path, probe.offset, &options, label)?);
    }
    Ok(ProbeLinks::Single(links))
}

/// Returns whether a program was loaded for `uprobe.multi`. For such a program, the kernel looks at the
/// binary, here `/`, and answers `EBADF`.
fn is_uprobe_multi_program(prog: BorrowedFd<'_>, label: &str) -> Result<bool, AttachError> {
    let none = uprobe_multi::create_link(prog, Path::new("/"), &[0], &UprobeMultiOptions::default(), label)?;
    match none {
        Err(Errno(libc::EBADF)) => Ok(true),
        // These errors say nothing about the program.
        Err(errno @ Errno(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN)) => {
            Err(AttachError::kernel(label, "attach", errno))
        }
        _ => Ok(false),
    }
}

/// The kernel links of a probe's locations.
#[derive(Debug)]
enum ProbeLinks {
    /// One `uprobe.multi` link; `None` after it is detached.
    Multi(Option<OwnedFd>),
    /// One link for each location.
    Single(Vec<Link>),
}

/// A program on a probe. Detaching closes the links before it frees the specifications that they use.
#[derive(Debug)]
struct UsdtAttachment {
    links: ProbeLinks,
    lease: Option<SpecLease>,
}

impl Attachment for UsdtAttachment {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.links {
            ProbeLinks::Multi(link) => link.as_ref().map(OwnedFd::as_fd),
            ProbeLinks::Single(_) => None,
        }
    }

    fn keep_for_pin(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.leak();
        }
    }

    fn detach(&mut self) -> Result<(), Errno> {
        let mut result = Ok(());
        match &mut self.links {
            ProbeLinks::Multi(link) => *link = None,
            ProbeLinks::Single(links) => {
                for link in links.drain(..) {
                    // Each link is unpinned, so an error comes from a system call and has an error number.
                    result = result.and(link.detach().map_err(|e| e.errno().unwrap_or(Errno(libc::EIO))));
                }
            }
        }
        self.lease = None;
        result
    }

    fn leak(mut self: Box<Self>) {
        match &mut self.links {
            ProbeLinks::Multi(link) => core::mem::forget(link.take()),
            ProbeLinks::Single(links) => links.drain(..).for_each(Link::leak),
        }
        self.keep_for_pin();
    }

    fn abandon(mut self: Box<Self>) {
        // Each link of a location knows its owner itself.
        self.keep_for_pin();
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{
            test_support::elf::{TempFile, TestElf},
            test_support::{
                eventually,
                trace::{Counter, Program},
            },
        },
        *,
    };
    use crate::sys::{self, MapCreate, MapFd};
    use core_relo::Endian;
    use core_relo_object::{
        load_plan::UsdtPlan,
        object::{AttachType, MapType, ProgramType},
    };
    use core_relo_test_support::skip;

    fn map(kind: MapType, key_size: u32, value_size: u32) -> Option<MapFd> {
        let map = MapCreate {
            map_type: kind.number(),
            name: b"usdt_test",
            key_size,
            value_size,
            max_entries: 2,
            ..MapCreate::default()
        };
        sys::map_create(&map).ok().map(|fd| MapFd::new(fd).unwrap())
    }

    fn maps(spec_size: u32) -> Option<(MapFd, MapFd)> {
        Some((map(MapType::Array, 4, spec_size)?, map(MapType::Hash, 8, 4)?))
    }

    fn value(map: &MapFd, id: u32) -> Vec<u8> {
        let mut value = vec![0; map.shape().value_size()];
        map.shape().lookup(&Endian::native().u32_bytes(id), &mut value, 0).unwrap();
        value
    }

    #[test]
    fn a_probe_runs_its_program_in_another_process_and_describes_its_arguments() {
        let Some(elf) = TestElf::write() else { return };
        for (spec_size, attach_type) in [(208, 0), (304, 0), (208, AttachType::TraceUprobeMulti.number())] {
            let Some((specs, ip_to_spec_id)) = maps(spec_size) else { return skip!("no maps") };
            let manager = UsdtManager::new(&specs, &ip_to_spec_id).unwrap();
            let Some(counter) = Counter::new() else { return };
            let cookies = manager.features().cookies;
            let prog = if cookies {
                Program::with_cookie_all(ProgramType::Kprobe, attach_type, &counter)
            } else {
                Program::counting_all(ProgramType::Kprobe, attach_type, &counter)
            };
            let Some(prog) = prog else { continue };
            let options = UsdtOptions { cookie: 0x1234, pid: None };
            // Two attachments fill the map's two entries. Without cookies, an address can be mapped once
            // only.
            let first = usdt(prog.fd(), &manager, elf.path(), "test", "probe", &options).unwrap();
            let second = usdt(prog.fd(), &manager, elf.path(), "test", "probe", &options);
            if cookies {
                let third = usdt(prog.fd(), &manager, elf.path(), "test", "probe", &options).unwrap_err();
                assert!(third.to_string().contains("BPF_USDT_MAX_SPEC_CNT"), "{third}");
                drop(first);
                assert!(elf.run() > 0, "the semaphore is raised");
                assert!(counter.count() > 0);
                assert!(eventually(|| elf.run() == 1));
                assert_eq!(counter.cookie(), 1);
                drop(second);
            } else {
                assert!(second.unwrap_err().to_string().contains("one program at each address"));
                assert_eq!(ip_to_spec_id.shape().next_key(None, &mut [0; 8]), Ok(true));
                assert!(elf.run() > 0);
                assert_eq!(counter.count(), 1);
                drop(first);
            }
            assert_eq!(ip_to_spec_id.shape().next_key(None, &mut [0; 8]), Ok(false));
            assert!(eventually(|| elf.run() == 0), "the semaphore is lowered");
            let spec = value(&specs, 0);
            let e = Endian::native();
            let args = usize::try_from(spec_size).unwrap() - 16;
            assert_eq!((e.u64(&spec, args), e.u16(&spec, args + 8)), (Some(0x1234), Some(3)));
            assert_eq!(e.u64(&spec, args / 12), Some((-7i64).cast_unsigned()));
            // Freed entries are used again.
            let again = usdt(prog.fd(), &manager, elf.path(), "test", "probe", &options).unwrap();
            again.detach().unwrap();
        }
    }

    #[test]
    fn probes_with_the_same_arguments_share_a_specification() {
        if !cfg!(target_arch = "x86_64") {
            return skip!("a binary of x86-64");
        }
        let notes = [("p", "n", "8@$1"), ("p", "n", "8@$1"), ("p", "n", "8@$2")];
        let file = TempFile::new("shared", &TestElf::with_notes(&notes));
        let Some((specs, ip_to_spec_id)) = maps(208) else { return skip!("no maps") };
        let manager = UsdtManager::new(&specs, &ip_to_spec_id).unwrap();
        if !manager.features().cookies {
            return skip!("three probes at one address need cookies");
        }
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting_all(ProgramType::Kprobe, 0, &counter) else { return };
        let link = usdt(prog.fd(), &manager, file.path(), "p", "n", &UsdtOptions::default()).unwrap();
        assert_eq!((value(&specs, 0)[0], value(&specs, 1)[0]), (1, 2));
        link.detach().unwrap();
    }

    #[test]
    fn the_plan_decides_about_cookies_and_not_the_kernel() {
        let Some(elf) = TestElf::write() else { return };
        let Some((specs, ip_to_spec_id)) = maps(208) else { return skip!("no maps") };
        let plan = |cookies| {
            let mut plan = UsdtPlan::default();
            plan.cookies = cookies;
            plan
        };
        let manager = UsdtManager::with_plan(&specs, &ip_to_spec_id, plan(false)).unwrap();
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting_all(ProgramType::Kprobe, 0, &counter) else { return };
        let options = UsdtOptions::default();
        let link = usdt(prog.fd(), &manager, elf.path(), "test", "probe", &options).unwrap();
        assert_eq!(ip_to_spec_id.shape().next_key(None, &mut [0; 8]), Ok(true), "the address is mapped");
        drop(link);
        let manager = UsdtManager::with_plan(&specs, &ip_to_spec_id, plan(true)).unwrap();
        assert!(manager.features().cookies && !manager.features().uprobe_multi);
    }

    #[test]
    fn maps_with_wrong_sizes_are_refused() {
        let Some((specs, ip_to_spec_id)) = maps(200) else { return skip!("no maps") };
        let e = UsdtManager::new(&specs, &ip_to_spec_id).unwrap_err();
        assert!(e.to_string().starts_with("__bpf_usdt_specs: wrong size of values: 200 bytes"), "{e}");
        let Some((specs, _)) = maps(208) else { return skip!("no maps") };
        let e = UsdtManager::new(&specs, &specs).unwrap_err();
        let start = "__bpf_usdt_ip_to_spec_id: wrong sizes of keys and values: 4 and 208 bytes, expected ";
        assert!(e.to_string().starts_with(start), "{e}");
    }
}
