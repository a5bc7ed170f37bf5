//! `Send` and `Sync` of the public types, as the guide documents them. The compiler checks them.

use core_relo_loader::{
    Global, Loader, attach,
    features::Features,
    inventory,
    load::{LoadError, Loaded, LoadedMap, LoadedProgram, Prepared, RunningKernel},
    load_plan::{LoadPlan, LoadPlanError, Settings, TargetKernel},
    maps, object, ring,
    target::{BtfFile, KernelBtf, TargetError},
};

const fn is_send<T: Send>() {}
const fn is_send_and_sync<T: Send + Sync>() {}
const fn is_error<T: core::error::Error + Clone + PartialEq + Send + Sync + 'static>() {}

// The constants have no value. Their compilation is the check.
const _: () = {
    is_send_and_sync::<object::Object<'_>>();
    is_send_and_sync::<Loader<'_, '_>>();
    is_send_and_sync::<Settings>();
    is_send_and_sync::<TargetKernel>();
    is_send_and_sync::<Features>();
    is_send_and_sync::<KernelBtf>();
    is_send_and_sync::<BtfFile>();
    is_send_and_sync::<LoadPlan>();
    is_send_and_sync::<Global>();
};

const _: () = {
    is_send_and_sync::<Prepared<'_, RunningKernel>>();
    is_send_and_sync::<Loaded>();
    is_send_and_sync::<LoadedMap>();
    is_send_and_sync::<LoadedProgram>();
    is_send_and_sync::<attach::Link>();
    is_send_and_sync::<attach::UsdtManager>();
    is_send_and_sync::<attach::IterReader>();
};

const _: () = {
    is_send_and_sync::<maps::MapFd>();
    is_send_and_sync::<maps::HashMap<u32, u64>>();
    is_send_and_sync::<maps::Array<u64>>();
    is_send_and_sync::<maps::PerCpuArray<u64>>();
    is_send_and_sync::<maps::PerCpuHashMap<u32, u64>>();
    is_send_and_sync::<maps::LpmTrie<u32, u64>>();
    is_send_and_sync::<maps::Queue<u64>>();
    is_send_and_sync::<maps::ArrayOfMaps>();
    is_send_and_sync::<maps::ProgArray>();
    is_send_and_sync::<maps::SockMap>();
    is_send_and_sync::<maps::TaskStorage<u64>>();
    is_send_and_sync::<maps::MappedMap>();
    is_send_and_sync::<maps::Arena>();
};

// The callbacks of readers need not be `Sync`.
const _: () = {
    is_send::<ring::RingBuffer<'_>>();
    is_send::<ring::PerfBuffer<'_>>();
    is_send::<ring::UserRingBuffer>();
};

const _: () = {
    is_error::<object::ObjectError>();
    is_error::<TargetError>();
    is_error::<LoadPlanError>();
    is_error::<LoadError>();
    is_error::<attach::AttachError>();
    is_error::<maps::MapError>();
    is_error::<ring::RingError>();
    is_error::<core_relo_loader::Errno>();
    is_error::<inventory::InventoryError>();
};

/// Method resolution shows whether a type is `Sync`: the inherent method exists only for `Sync` types and
/// precedes that of the trait, which needs a reference.
#[test]
fn ring_readers_are_not_sync() {
    use core::marker::PhantomData;
    trait NotSync {
        fn is_sync(&self) -> bool {
            false
        }
    }
    struct Probe<T>(PhantomData<T>);
    impl<T> NotSync for &Probe<T> {}
    impl<T: Sync> Probe<T> {
        const fn is_sync(&self) -> bool {
            let Self(PhantomData) = self;
            true
        }
    }
    assert!(Probe::<Loaded>(PhantomData).is_sync());
    assert!(!(&Probe::<ring::RingBuffer<'static>>(PhantomData)).is_sync());
    assert!(!(&Probe::<ring::PerfBuffer<'static>>(PhantomData)).is_sync());
}
