//! The number of allocations hardly depends on the number of records, and grows with the length of a C source
//! only.

use core_relo::{
    CodeSection, Endian, Function, InsnIndex, Plan, Relocs, Target,
    btf::{Btf, Builder, HeaderRoots},
    ext::BtfExt,
    insn::Insn,
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    sync::{Arc, Mutex, PoisonError},
};

/// The system allocator with a count of allocations.
struct CountingAllocator;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
/// The lock of tests that count, which run in threads of one process.
static COUNTING: Mutex<()> = Mutex::new(());

// SAFETY: every call is forwarded to the system allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract, and the system allocator made the block.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller upholds the contract, and the system allocator made the block.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Returns types with a struct of a hundred members, four levels below the root, and the root. The member
/// offsets start at `first_offset` bits.
fn types(first_offset: u32) -> (Builder, core_relo::TypeId) {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let names: Vec<_> = (0..100).map(|n| format!("member{n}")).collect();
    let members: Vec<_> =
        names.iter().zip((first_offset..).step_by(32)).map(|(name, at)| (&**name, int, at)).collect();
    let inner = b.structure("inner", 404, &members);
    let array = b.array(inner, int, 4);
    let middle = b.union("middle", 1616, &[("array", array, 0)]);
    let outer = b.structure("outer", 1616, &[("", middle, 0)]);
    (b, outer)
}

/// Returns the number of allocations for collecting and relocating `records` records, which access the
/// hundred members in turn.
fn count_allocations(records: u32) -> usize {
    let (mut b, root) = types(0);
    let section = b.string("tp/x").0;
    let mut ext = vec![0x0001_eb9f, 32, 0, 0, 0, 0, 0, 12 + 16 * records, 16, section, records];
    let mut code = Vec::new();
    for n in 0..records {
        let access = b.string(&format!("0:0:0:1:{}", n % 100)).0;
        ext.extend([8 * n, root.0, access, 0]);
        // The local value: an element has 404 bytes.
        let imm = 404 + 4 * i32::try_from(n % 100).unwrap();
        code.extend(Insn { code: 0xb7, imm, ..Insn::default() }.encode(Endian::Little));
    }
    let ext: Vec<u8> = ext.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let (btf, ext) = (Btf::parse(b.finish()).unwrap(), BtfExt::parse(&ext).unwrap());
    let functions = vec![Function { name: b"prog", start: InsnIndex(0), len: records }];
    let sections = [CodeSection { name: b"tp/x", code: &code, functions }];
    let target = Target::new("vmlinux", Arc::new(Btf::parse(types(32).0.finish()).unwrap()));
    let before = ALLOCATIONS.load(Relaxed);
    let relocs = Relocs::collect(&btf, &ext, &sections).unwrap();
    let plan = Plan::new(&relocs, &target);
    let patched = plan.patched().unwrap();
    let allocations = ALLOCATIONS.load(Relaxed) - before;
    assert_eq!(
        plan.summary().patched,
        usize::try_from(records).unwrap(),
        "{:?}",
        plan.get(0).unwrap().decision()
    );
    assert_ne!(patched.sections[0], code);
    allocations
}

#[test]
fn more_records_need_hardly_more_allocations() {
    let _lock = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let (few, many) = (count_allocations(1000), count_allocations(8000));
    println!("{few} allocations for 1000 records, {many} for 8000");
    // A growing vector reallocates each time it doubles.
    assert!(many < few + 40, "{few}, then {many}");
}

/// Returns the number of allocations for reading a source with one typedef of many specifiers and as many
/// names.
fn count_typedef_allocations(names: u32) -> usize {
    let words = |letter: char, separator: &str| {
        (0..names).map(|n| format!("{letter}{n}")).collect::<Vec<_>>().join(separator)
    };
    let source = format!("typedef {} {};", words('a', " "), words('b', ", "));
    let before = ALLOCATIONS.load(Relaxed);
    let mut roots = HeaderRoots::new();
    roots.add_source(source.as_bytes(), |_| false);
    assert!(roots.redefinitions(&source).is_empty());
    ALLOCATIONS.load(Relaxed) - before
}

/// Each name had a copy of all specifiers: 46 KB of text took 878 MB of memory.
#[test]
fn names_of_a_typedef_share_its_specifiers() {
    let _lock = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let (few, many) = (count_typedef_allocations(100), count_typedef_allocations(400));
    assert!(many < 5 * few, "{few} {many}");
}
