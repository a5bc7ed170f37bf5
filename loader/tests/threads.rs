//! What may go to another thread, and what may be used by several at once: the guide says so, and the compiler checks it.

use core_relo_loader::{
    Global, Loader, attach,
    features::Features,
    load::{LoadError, Loaded, LoadedMap, LoadedProgram, Prepared, RunningKernel},
    load_plan::{Host, LoadPlan, LoadPlanError, Settings},
    maps, object, ring, sys,
    target::{KernelTypes, TargetError, TargetFile},
};

const fn goes<T: Send>() {}
const fn is_shared<T: Send + Sync>() {}
const fn is_error<T: core::error::Error + Clone + PartialEq + Send + Sync + 'static>() {}

/// It is enough that these are compiled.
const _: () = {
    is_shared::<object::Object<'_>>();
    is_shared::<Loader<'_, '_>>();
    is_shared::<Settings>();
    is_shared::<Host>();
    is_shared::<Features>();
    is_shared::<KernelTypes>();
    is_shared::<TargetFile>();
    is_shared::<LoadPlan>();
    is_shared::<Global>();
};

const _: () = {
    is_shared::<Prepared<'_, RunningKernel>>();
    is_shared::<Loaded>();
    is_shared::<LoadedMap>();
    is_shared::<LoadedProgram>();
    is_shared::<attach::Link>();
    is_shared::<attach::UsdtManager>();
    is_shared::<attach::IterReader>();
};

const _: () = {
    is_shared::<sys::MapFd>();
    is_shared::<maps::HashMap<u32, u64>>();
    is_shared::<maps::Array<u64>>();
    is_shared::<maps::PerCpuArray<u64>>();
    is_shared::<maps::PerCpuHashMap<u32, u64>>();
    is_shared::<maps::LpmTrie<u32, u64>>();
    is_shared::<maps::Queue<u64>>();
    is_shared::<maps::ArrayOfMaps>();
    is_shared::<maps::ProgArray>();
    is_shared::<maps::SockMap>();
    is_shared::<maps::TaskStorage<u64>>();
    is_shared::<maps::MappedMap>();
    is_shared::<maps::Arena>();
};

/// Their callbacks need not be `Sync`.
const _: () = {
    goes::<ring::RingBuffer<'_>>();
    goes::<ring::PerfBuffer<'_>>();
    goes::<ring::UserRingBuffer>();
};

const _: () = {
    is_error::<object::ObjectError>();
    is_error::<TargetError>();
    is_error::<LoadPlanError>();
    is_error::<LoadError>();
    is_error::<attach::AttachError>();
    is_error::<maps::MapError>();
    is_error::<ring::RingError>();
    is_error::<sys::Errno>();
};

/// What is not `Sync` beside `RingBuffer`, by the way in which methods are found: the first that fits without a reference.
#[test]
fn readers_are_not_shared() {
    use core::marker::PhantomData;
    trait Otherwise {
        fn is_sync(&self) -> bool {
            false
        }
    }
    struct Of<T>(PhantomData<T>);
    impl<T> Otherwise for &Of<T> {}
    impl<T: Sync> Of<T> {
        const fn is_sync(&self) -> bool {
            let Self(PhantomData) = self;
            true
        }
    }
    assert!(Of::<Loaded>(PhantomData).is_sync());
    assert!(!(&Of::<ring::RingBuffer<'static>>(PhantomData)).is_sync());
    assert!(!(&Of::<ring::PerfBuffer<'static>>(PhantomData)).is_sync());
}
