//! Attaching to a USDT probe.

use super::{
    super::{
        binary_path::resolve,
        error::AttachError,
        link::{Attachment, Link},
        pmu::process,
        uprobe::{self, UprobeOptions},
        uprobe_multi::{self, UprobeMultiOptions},
    },
    args::Arg,
    manager::{Lease, UsdtManager},
    target::{Abilities, Probe, probes},
};
use crate::sys::Errno;
use std::{
    collections::HashMap,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::Path,
};

/// How a USDT probe is attached to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct UsdtOptions {
    /// What `bpf_usdt_cookie` gives.
    pub cookie: u64,
    /// The process, 0 for this one; none for every one that maps the file.
    pub pid: Option<u32>,
}

/// Attaches to all places of a USDT probe in a binary (libbpf: `bpf_program__attach_usdt`): a path, or a name that is searched for.
pub fn usdt(
    prog: BorrowedFd<'_>,
    manager: &UsdtManager,
    binary: impl AsRef<Path>,
    provider: &str,
    name: &str,
    options: &UsdtOptions,
) -> Result<Link, AttachError> {
    let what = format!("usdt/{}:{provider}:{name}", binary.as_ref().display());
    let path = resolve(binary.as_ref(), &what)?;
    let options = &UsdtOptions { pid: process(options.pid), ..*options };
    let probes = probes(&path, provider, name, options.pid, manager.can())?;
    let mut lease = manager.lease();
    // Places with their arguments in the same places share a specification.
    let mut known: HashMap<&[Arg], u32> = HashMap::new();
    let mut ids = Vec::with_capacity(probes.len());
    for probe in &probes {
        let id = match known.get(probe.args.as_slice()) {
            Some(id) => *id,
            None => lease.add(&probe.args, options.cookie, &what)?,
        };
        known.insert(&probe.args, id);
        lease.map_address(probe.address, id, &what)?;
        ids.push(id);
    }
    let places = attach(prog, &path, &probes, &ids, options, manager.can(), &what)?;
    Ok(Link::new(OnProbe { places, lease: Some(lease) }, what))
}

/// By one link, or (where the kernel or the program does not go with that) by one for each place.
fn attach(
    prog: BorrowedFd<'_>,
    path: &Path,
    probes: &[Probe],
    ids: &[u32],
    options: &UsdtOptions,
    can: Abilities,
    what: &str,
) -> Result<Places, AttachError> {
    let offsets: Vec<u64> = probes.iter().map(|p| p.offset).collect();
    let semaphores: Vec<u64> = probes.iter().map(|p| p.semaphore).collect();
    let numbers: Vec<u64> = ids.iter().copied().map(u64::from).collect();
    let multi = UprobeMultiOptions {
        pid: options.pid,
        cookies: &numbers,
        ref_ctr_offsets: &semaphores,
        ..UprobeMultiOptions::default()
    };
    if can.uprobe_multi && go_together(prog, what)? {
        let link = uprobe_multi::create(prog, path, &offsets, &multi, what)?;
        let link = link.map_err(|errno| AttachError::kernel(what, "attach", errno))?;
        return Ok(Places::Together(Some(link)));
    }
    let mut links = Vec::with_capacity(probes.len());
    for (probe, id) in probes.iter().zip(&numbers) {
        let each = UprobeOptions {
            pid: options.pid,
            ref_ctr_offset: probe.semaphore,
            cookie: if can.cookies { *id } else { 0 },
            ..UprobeOptions::default()
        };
        links.push(uprobe::at(prog, path, probe.offset, &each, what)?);
    }
    Ok(Places::Each(links))
}

/// Whether this program was loaded for one link for all places: then `/` is looked at, which is no binary.
fn go_together(prog: BorrowedFd<'_>, what: &str) -> Result<bool, AttachError> {
    let none = uprobe_multi::create(prog, Path::new("/"), &[0], &UprobeMultiOptions::default(), what)?;
    match none {
        Err(Errno(libc::EBADF)) => Ok(true),
        // That says nothing about the program.
        Err(errno @ Errno(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN)) => {
            Err(AttachError::kernel(what, "attach", errno))
        }
        _ => Ok(false),
    }
}

#[derive(Debug)]
enum Places {
    Together(Option<OwnedFd>),
    Each(Vec<Link>),
}

/// A program on a probe. The specifications go after the places that use them.
#[derive(Debug)]
struct OnProbe {
    places: Places,
    lease: Option<Lease>,
}

impl Attachment for OnProbe {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.places {
            Places::Together(link) => link.as_ref().map(OwnedFd::as_fd),
            Places::Each(_) => None,
        }
    }

    fn keep(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.leak();
        }
    }

    fn detach(&mut self) -> Result<(), Errno> {
        let mut done = Ok(());
        match &mut self.places {
            Places::Together(link) => *link = None,
            Places::Each(links) => {
                for link in links.drain(..) {
                    done = done.and(link.detach().map_err(|e| e.errno().unwrap_or(Errno(libc::EIO))));
                }
            }
        }
        self.lease = None;
        done
    }

    fn leak(mut self: Box<Self>) {
        match &mut self.places {
            Places::Together(link) => core::mem::forget(link.take()),
            Places::Each(links) => links.drain(..).for_each(Link::leak),
        }
        self.keep();
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{
            testing_elf::{TempFile, TestElf},
            testing_trace::{Counter, Program, before_long},
        },
        *,
    };
    use crate::{
        load_plan::UsdtPlan,
        object::{AttachType, MapType, ProgramType},
        sys::{self, MapCreate, MapFd},
    };
    use core_relo::Endian;

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
        sys::map_lookup(map.shape(), &Endian::native().u32_bytes(id), &mut value, 0).unwrap();
        value
    }

    #[test]
    fn a_probe_fires_in_another_process_with_its_arguments_described() {
        let Some(elf) = TestElf::write() else { return };
        for (spec_size, attach_type) in [(208, 0), (304, 0), (208, AttachType::TraceUprobeMulti.number())] {
            let Some((specs, by_address)) = maps(spec_size) else { return println!("SKIP: no maps") };
            let manager = UsdtManager::new(&specs, &by_address).unwrap();
            let Some(counter) = Counter::new() else { return };
            let cookies = manager.can().cookies;
            let prog = if cookies {
                Program::with_cookie_all(ProgramType::Kprobe, attach_type, &counter)
            } else {
                Program::counting_all(ProgramType::Kprobe, attach_type, &counter)
            };
            let Some(prog) = prog else { continue };
            let options = UsdtOptions { cookie: 0x1234, pid: None };
            // Both at once take the map's two places; the same address can be had once without cookies.
            let first = usdt(prog.fd(), &manager, elf.path(), "test", "probe", &options).unwrap();
            let second = usdt(prog.fd(), &manager, elf.path(), "test", "probe", &options);
            if cookies {
                let third = usdt(prog.fd(), &manager, elf.path(), "test", "probe", &options).unwrap_err();
                assert!(third.to_string().contains("BPF_USDT_MAX_SPEC_CNT"), "{third}");
                drop(first);
                assert!(elf.run() > 0, "the semaphore is raised");
                assert!(counter.count() > 0);
                assert!(before_long(|| elf.run() == 1));
                assert_eq!(counter.cookie(), 1);
                drop(second);
            } else {
                assert!(second.unwrap_err().to_string().contains("cannot tell them apart"));
                assert_eq!(sys::map_next_key(by_address.shape(), None, &mut [0; 8]), Ok(true));
                assert!(elf.run() > 0);
                assert_eq!(counter.count(), 1);
                drop(first);
            }
            assert_eq!(sys::map_next_key(by_address.shape(), None, &mut [0; 8]), Ok(false));
            assert!(before_long(|| elf.run() == 0), "the semaphore is lowered");
            let spec = value(&specs, 0);
            let e = Endian::native();
            let args = usize::try_from(spec_size).unwrap() - 16;
            assert_eq!((e.u64(&spec, args), e.u16(&spec, args + 8)), (Some(0x1234), Some(3)));
            assert_eq!(e.u64(&spec, args / 12), Some((-7i64).cast_unsigned()));
            // What was given back is used again.
            let again = usdt(prog.fd(), &manager, elf.path(), "test", "probe", &options).unwrap();
            again.detach().unwrap();
        }
    }

    #[test]
    fn places_with_the_same_arguments_share_a_specification() {
        if !cfg!(target_arch = "x86_64") {
            return println!("SKIP: a binary of x86-64");
        }
        let notes = [("p", "n", "8@$1"), ("p", "n", "8@$1"), ("p", "n", "8@$2")];
        let file = TempFile::new("shared", &TestElf::with_notes(&notes));
        let Some((specs, by_address)) = maps(208) else { return println!("SKIP: no maps") };
        let manager = UsdtManager::new(&specs, &by_address).unwrap();
        if !manager.can().cookies {
            return println!("SKIP: three probes at one address need cookies");
        }
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting_all(ProgramType::Kprobe, 0, &counter) else { return };
        let link = usdt(prog.fd(), &manager, file.path(), "p", "n", &UsdtOptions::default()).unwrap();
        assert_eq!((value(&specs, 0)[0], value(&specs, 1)[0]), (1, 2));
        link.detach().unwrap();
    }

    #[test]
    fn what_programs_were_told_counts_and_not_what_the_kernel_can_do() {
        let Some(elf) = TestElf::write() else { return };
        let Some((specs, by_address)) = maps(208) else { return println!("SKIP: no maps") };
        let told = |cookies| {
            let mut plan = UsdtPlan::default();
            plan.cookies = cookies;
            plan
        };
        let manager = UsdtManager::planned(&specs, &by_address, told(false)).unwrap();
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting_all(ProgramType::Kprobe, 0, &counter) else { return };
        let options = UsdtOptions::default();
        let link = usdt(prog.fd(), &manager, elf.path(), "test", "probe", &options).unwrap();
        assert_eq!(sys::map_next_key(by_address.shape(), None, &mut [0; 8]), Ok(true), "found by address");
        drop(link);
        let manager = UsdtManager::planned(&specs, &by_address, told(true)).unwrap();
        assert!(manager.can().cookies && !manager.can().uprobe_multi);
    }

    #[test]
    fn maps_of_another_shape_are_refused() {
        let Some((specs, by_address)) = maps(200) else { return println!("SKIP: no maps") };
        let e = UsdtManager::new(&specs, &by_address).unwrap_err();
        assert!(e.to_string().starts_with("__bpf_usdt_specs: its values have 200 bytes"), "{e}");
        let Some((specs, _)) = maps(208) else { return println!("SKIP: no maps") };
        assert!(UsdtManager::new(&specs, &specs).is_err());
    }
}
