//! Loads that fail half way: each request fails in turn, and the load must leave nothing.

mod attach;
mod kernel;
mod limits;
mod pins;
mod races;
mod requests;

use super::harness::{Bpffs, Need, live, object};
use core_relo::btf::Btf;
use core_relo_loader::{
    Loader,
    features::Features,
    load::{self, Kernel, LoadError, RunningKernel},
    load_plan::{LoadPlan, MapRole, TargetKernel},
    object::Object,
    target::{self, KernelBtf},
};
use kernel::{FakeKernel, FaultInjector, Id, Request, errno};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

/// Objects that make every kind of request.
const OBJECTS: [&str; 8] =
    ["globals", "pinned", "map_in_map", "tail_call", "kconfig", "arena", "subprograms", "struct_ops"];

/// An errno that no request returns otherwise.
const INJECTED: rustix::io::Errno = rustix::io::Errno::IO;

/// Returns true if a load succeeds despite the failed request: the request is optional, or the load repeats
/// it.
fn is_survived(request: Request, every_time: bool, detail: &str) -> bool {
    match request {
        Request::Token | Request::Memlock | Request::ProgBindMap => true,
        Request::BtfLoad | Request::ProgLoad => !every_time,
        Request::MapCreate => !every_time && detail.ends_with(" with types"),
        _ => false,
    }
}

/// Plans a load for a kernel with these features and with the types of the object.
fn offline_plan(bytes: &[u8], name: &str, features: Features) -> Result<LoadPlan, LoadError> {
    let object = Object::parse(bytes).unwrap();
    plan_with_pins(
        Loader::for_kernel(&object, offline_kernel(bytes, features)).name(name),
        Path::new("/pins"),
    )
}

/// Returns a kernel with these features and with the types of an object.
fn offline_kernel(bytes: &[u8], features: Features) -> TargetKernel {
    let own = Btf::parse(target::extract(bytes).unwrap().btf.to_vec()).unwrap();
    let mut kernel = TargetKernel::offline(Arc::new(KernelBtf::from_btf(Arc::new(own), [])));
    kernel.features = features;
    kernel.kernel_version = 0x0006_0100;
    kernel.kconfig = Some(
        "CONFIG_HZ=250\nCONFIG_BPF_SYSCALL=y\nCONFIG_NET=y\nCONFIG_DEFAULT_HOSTNAME=\"(none)\"\n".into(),
    );
    kernel
}

/// Plans a load that pins every map of the object in a directory.
fn plan_with_pins(mut loader: Loader<'_, '_>, pins: &Path) -> Result<LoadPlan, LoadError> {
    for map in loader.plan()?.maps().iter().filter(|m| m.role() == MapRole::Defined) {
        loader.map_mut(map.name()).pin = Some(Some(pins.join(map.name().replace('.', "_"))));
    }
    loader.plan()
}

/// Fails each request of a load in turn, once and from then on. Calls `after` after each load, to check what
/// is left.
fn fail_each_request<K: Kernel>(
    name: &str,
    plan: &LoadPlan,
    kernel: impl Fn() -> K,
    mut after: impl FnMut(&str, &FaultInjector<'_, K>),
) {
    let recorder = FaultInjector::new(kernel(), |_, _| None);
    let loaded = load::execute(plan, &recorder).unwrap_or_else(|e| panic!("{name}, no faults: {e}"));
    drop(loaded);
    after(name, &recorder);
    let requests = recorder.requests();
    for (at, (request, detail)) in requests.iter().enumerate() {
        let nth = requests[..at].iter().filter(|(other, _)| other == request).count();
        for every_time in [false, true] {
            let injected = errno(INJECTED);
            let injector = FaultInjector::new(kernel(), |kind, n| {
                (kind == *request && (n == nth || every_time && n > nth)).then_some(injected)
            });
            let place =
                format!("{name}, {request:?} {nth} failed{}", if every_time { " from then on" } else { "" });
            match load::execute(plan, &injector) {
                // The running kernel may accept or refuse an object without BTF.
                _ if *request == Request::BtfLoad && !plan.btf_is_mandatory() => {}
                Ok(_loaded) => assert!(is_survived(*request, every_time, detail), "{place}: loaded"),
                Err(error) => {
                    assert!(!is_survived(*request, every_time, detail), "{place}: {error}");
                    assert_eq!(error.errno(), Some(injected), "{place}: {error}");
                    let text = error.to_string();
                    assert!(text.starts_with(&format!("{name}: ")), "{place}: {text}");
                    let is_one_line = !matches!(error, LoadError::Program { .. });
                    assert!(!is_one_line || !text.contains('\n'), "{place}: {text}");
                    // A failed load has no visible pin, unless one of several pins got its name first.
                    let visible = injector.visible_pins();
                    assert!(
                        visible.is_empty() || (*request == Request::RenamePin && nth > 0),
                        "{place}: {visible:?}"
                    );
                }
            }
            after(&place, &injector);
        }
    }
}

/// Checks that only pins with their final names are left. Private names may stay if their removal fails.
fn check_pins<K: Kernel>(place: &str, kernel: &FaultInjector<'_, K>, left: &[PathBuf]) {
    if !place.contains("Unpin") {
        assert_eq!(left, kernel.visible_pins(), "{place}");
    }
}

#[test]
fn a_load_that_fails_at_any_request_leaves_nothing() {
    let mut plans = 0;
    let mut kinds = std::collections::BTreeSet::new();
    for name in OBJECTS {
        let plan = match offline_plan(&object(name), name, Features::newest()) {
            Ok(plan) => plan,
            Err(e) => {
                println!("not planned: {e}");
                continue;
            }
        };
        plans += 1;
        let fake = FakeKernel::new();
        fail_each_request(
            name,
            &plan,
            || &fake,
            |place, kernel| {
                assert_eq!(fake.open_count(), 0, "{place}: descriptors stay open");
                let left: Vec<_> = core::mem::take(&mut *fake.pins.borrow_mut()).into_keys().collect();
                check_pins(place, kernel, &left);
                kinds.extend(kernel.requests().into_iter().map(|(request, _)| request));
            },
        );
    }
    assert!(plans >= OBJECTS.len() - 2, "{plans} objects have a plan");
    let expected = [
        Request::Token,
        Request::BtfLoad,
        Request::MapCreate,
        Request::MapUpdate,
        Request::MapFreeze,
        Request::Arena,
        Request::ProgLoad,
        Request::ProgBindMap,
        Request::Pin,
        Request::OpenPin,
        Request::RenamePin,
        Request::Unpin,
    ];
    assert!(expected.iter().all(|request| kinds.contains(request)), "{kinds:?}");
}

#[test]
fn a_failed_load_leaves_nothing_in_the_running_kernel() {
    let Some(_live) = live("faults::a_failed_load_leaves_nothing_in_the_running_kernel", &[Need::Btf]) else {
        return;
    };
    let bpffs = Bpffs::new();
    let mut created: Vec<Id> = Vec::new();
    let mut loads = 0;
    for name in OBJECTS {
        let bytes = object(name);
        let parsed = Object::parse(&bytes).unwrap();
        let plan = plan_with_pins(Loader::new(&parsed).name(name), bpffs.path());
        let plan = match plan.and_then(|plan| load::execute(&plan, &RunningKernel).map(|_loaded| plan)) {
            Ok(plan) => plan,
            // Other tests report what this kernel does not support.
            Err(e) => {
                println!("not loaded here: {e}");
                clear(&bpffs);
                continue;
            }
        };
        clear(&bpffs);
        let before = descriptors();
        fail_each_request(
            name,
            &plan,
            || RunningKernel,
            |place, kernel| {
                loads += 1;
                assert_eq!(descriptors(), before, "{place}: descriptors stay open");
                let mut left: Vec<_> = pins(&bpffs).collect();
                left.sort();
                check_pins(place, kernel, &left);
                clear(&bpffs);
                created.extend(kernel.created());
            },
        );
    }
    // The kernel frees programs and maps some time after the last reference, and their BTF after them.
    let until = Instant::now() + Duration::from_secs(60);
    while created.iter().any(|id| !id.is_freed()) && Instant::now() < until {
        sleep(Duration::from_millis(10));
    }
    let left: Vec<_> = created.iter().filter(|id| !id.is_freed()).collect();
    assert!(left.is_empty(), "{left:?}");
    println!("{loads} loads, {} programs, maps and BTFs created, none left", created.len());
    assert!(loads > 50, "{loads}");
}

/// Returns the pins of a bpffs, without the kernel's own files, whose names have a dot.
fn pins(bpffs: &Bpffs) -> impl Iterator<Item = PathBuf> {
    let all = fs::read_dir(bpffs.path()).unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.extension().is_none())
}

/// Removes all pins of a bpffs.
fn clear(bpffs: &Bpffs) {
    pins(bpffs).for_each(|path| fs::remove_file(path).unwrap());
}

/// Returns the number of open kernel objects of this process. Open files belong to tests in other threads.
fn descriptors() -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
    links
        .filter(|e| {
            fs::read_link(e.path())
                .is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"anon_inode:"))
        })
        .count()
}
