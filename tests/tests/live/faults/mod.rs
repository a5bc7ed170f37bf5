//! Loads that fail half way: each request refused in turn, and nothing is left of the load.

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
    load_plan::{Host, LoadPlan, MapRole},
    object::Object,
    sys::Errno,
    target::{self, KernelTypes},
};
use kernel::{Ask, Fake, Id, Refusing};
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

/// What no request is told otherwise.
const REFUSAL: rustix::io::Errno = rustix::io::Errno::IO;

fn errno(of: rustix::io::Errno) -> Errno {
    Errno(of.raw_os_error())
}

/// Refusals that a load gets over: what it asks for is of use, not necessary, or it asks again.
fn is_survived(ask: Ask, every_time: bool, detail: &str) -> bool {
    match ask {
        Ask::Token | Ask::Memlock | Ask::ProgBindMap => true,
        Ask::BtfLoad | Ask::ProgLoad => !every_time,
        Ask::MapCreate => !every_time && detail.ends_with(" with types"),
        _ => false,
    }
}

/// An object's plan for a kernel that can do everything and has the object's own types.
fn offline(bytes: &[u8], name: &str, features: Features) -> Result<LoadPlan, LoadError> {
    let object = Object::parse(bytes).unwrap();
    let own = Btf::parse(target::extract(bytes).unwrap().btf.to_vec()).unwrap();
    let mut host = Host::offline(Arc::new(KernelTypes::from_btf(Arc::new(own), [])));
    host.features = features;
    host.kernel_version = 0x0006_0100;
    host.kconfig = Some(
        "CONFIG_HZ=250\nCONFIG_BPF_SYSCALL=y\nCONFIG_NET=y\nCONFIG_DEFAULT_HOSTNAME=\"(none)\"\n".into(),
    );
    planned(Loader::with_host(&object, host).name(name), Path::new("/pins"))
}

/// With every map that the object defines pinned in a folder.
fn planned(mut loader: Loader<'_, '_>, pins: &Path) -> Result<LoadPlan, LoadError> {
    for map in loader.plan()?.maps.iter().filter(|m| m.role == MapRole::Defined) {
        loader.map(&map.name).pin = Some(Some(pins.join(map.name.replace('.', "_"))));
    }
    loader.plan()
}

/// Refuses each request of a plan in turn, once and from then on, and has `after` look at what is left of the load.
fn refuse_each<K: Kernel>(
    name: &str,
    plan: &LoadPlan,
    kernel: impl Fn() -> K,
    mut after: impl FnMut(&str, &Refusing<'_, K>),
) {
    let whole = Refusing::new(kernel(), |_, _| None);
    let loaded = load::load(plan, &whole).unwrap_or_else(|e| panic!("{name}, nothing refused: {e}"));
    drop(loaded);
    after(name, &whole);
    let asked = whole.asked();
    for (at, (ask, detail)) in asked.iter().enumerate() {
        let nth = asked[..at].iter().filter(|(other, _)| other == ask).count();
        for every_time in [false, true] {
            let refused = errno(REFUSAL);
            let refusing = Refusing::new(kernel(), |what, n| {
                (what == *ask && (n == nth || every_time && n > nth)).then_some(refused)
            });
            let place =
                format!("{name}, {ask:?} {nth} refused{}", if every_time { " from then on" } else { "" });
            match load::load(plan, &refusing) {
                // Whether the kernel takes an object without its types is its business.
                _ if *ask == Ask::BtfLoad && !plan.btf_is_mandatory => {}
                Ok(_loaded) => assert!(is_survived(*ask, every_time, detail), "{place}: loaded"),
                Err(error) => {
                    assert!(!is_survived(*ask, every_time, detail), "{place}: {error}");
                    assert_eq!(error.errno(), Some(refused), "{place}: {error}");
                    let text = error.to_string();
                    assert!(text.starts_with(&format!("{name}: ")), "{place}: {text}");
                    let one_line = !matches!(error, LoadError::Program { .. });
                    assert!(!one_line || !text.contains('\n'), "{place}: {text}");
                    // Nobody can have used a pin of a load that fails, unless one of several pins got its name first.
                    let visible = refusing.visible_pins();
                    assert!(
                        visible.is_empty() || (*ask == Ask::RenamePin && nth > 0),
                        "{place}: {visible:?}"
                    );
                }
            }
            after(&place, &refusing);
        }
    }
}

/// The pins that are left are those that have their final names, and no private ones. Where the removal of private names is
/// refused, they are left.
fn is_expected<K: Kernel>(place: &str, kernel: &Refusing<'_, K>, left: &[PathBuf]) {
    if !place.contains("Unpin") {
        assert_eq!(left, kernel.visible_pins(), "{place}");
    }
}

#[test]
fn nothing_is_left_of_a_load_that_fails_wherever_it_does() {
    let mut planned = 0;
    let mut kinds = std::collections::BTreeSet::new();
    for name in OBJECTS {
        let plan = match offline(&object(name), name, Features::newest()) {
            Ok(plan) => plan,
            Err(e) => {
                println!("not planned: {e}");
                continue;
            }
        };
        planned += 1;
        let fake = Fake::new();
        refuse_each(
            name,
            &plan,
            || &fake,
            |place, kernel| {
                assert_eq!(fake.open(), 0, "{place}: descriptors stay open");
                let left: Vec<_> = core::mem::take(&mut *fake.pins.borrow_mut()).into_keys().collect();
                is_expected(place, kernel, &left);
                kinds.extend(kernel.asked().into_iter().map(|(ask, _)| ask));
            },
        );
    }
    assert!(planned >= OBJECTS.len() - 2, "{planned} objects could be planned");
    let expected = [
        Ask::Token,
        Ask::BtfLoad,
        Ask::MapCreate,
        Ask::MapUpdate,
        Ask::MapFreeze,
        Ask::Arena,
        Ask::ProgLoad,
        Ask::ProgBindMap,
        Ask::Pin,
        Ask::Pinned,
        Ask::RenamePin,
        Ask::Unpin,
    ];
    assert!(expected.iter().all(|ask| kinds.contains(ask)), "{kinds:?}");
}

#[test]
fn nothing_is_left_in_the_running_kernel_either() {
    let Some(_live) = live("faults::nothing_is_left_in_the_running_kernel_either", &[Need::Btf]) else {
        return;
    };
    let bpffs = Bpffs::new();
    let mut made: Vec<Id> = Vec::new();
    let mut loads = 0;
    for name in OBJECTS {
        let bytes = object(name);
        let parsed = Object::parse(&bytes).unwrap();
        let plan = planned(Loader::new(&parsed).name(name), bpffs.path());
        let plan = match plan.and_then(|plan| load::load(&plan, &RunningKernel).map(|_loaded| plan)) {
            Ok(plan) => plan,
            // What this kernel cannot do is for other tests to notice.
            Err(e) => {
                println!("not loaded here: {e}");
                clear(&bpffs);
                continue;
            }
        };
        clear(&bpffs);
        let before = descriptors();
        refuse_each(
            name,
            &plan,
            || RunningKernel,
            |place, kernel| {
                loads += 1;
                assert_eq!(descriptors(), before, "{place}: descriptors stay open");
                let mut left: Vec<_> = pins(&bpffs).collect();
                left.sort();
                is_expected(place, kernel, &left);
                clear(&bpffs);
                made.extend(kernel.made());
            },
        );
    }
    // Programs and maps are freed some time after nobody holds them, and their BTF after them: a busy kernel takes its time.
    let until = Instant::now() + Duration::from_secs(60);
    while made.iter().any(|id| !id.is_gone()) && Instant::now() < until {
        sleep(Duration::from_millis(10));
    }
    let left: Vec<_> = made.iter().filter(|id| !id.is_gone()).collect();
    assert!(left.is_empty(), "{left:?}");
    println!("{loads} loads, {} programs, maps and BTFs made, none left", made.len());
    assert!(loads > 50, "{loads}");
}

/// What is pinned, without the files that some kernels put into each bpffs and give names with a dot.
fn pins(bpffs: &Bpffs) -> impl Iterator<Item = PathBuf> {
    let all = fs::read_dir(bpffs.path()).unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.extension().is_none())
}

fn clear(bpffs: &Bpffs) {
    pins(bpffs).for_each(|path| fs::remove_file(path).unwrap());
}

/// How many of the kernel's objects this process has open; files belong to tests that run beside this one.
fn descriptors() -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
    links
        .filter(|e| {
            fs::read_link(e.path())
                .is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"anon_inode:"))
        })
        .count()
}
