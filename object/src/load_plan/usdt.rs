//! The kernel features that USDT depends on. The programs and the code that attaches the probes have to agree
//! on them.

use super::target_kernel::TargetKernel;
use crate::{
    features::{Feature, Features},
    link::{ProgramLinker, externs::ExternBinding},
};
use core_relo::{ByteOffset, ByteSize};

/// The maps of libbpf's `usdt.bpf.h`: the probe specifications, and the number of a specification by address.
pub const USDT_MAPS: [&str; 2] = ["__bpf_usdt_specs", "__bpf_usdt_ip_to_spec_id"];

/// The plan for attaching USDT probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsdtPlan {
    /// Whether programs find a probe's specification by its BPF cookie. Otherwise they find the specification
    /// by address.
    pub cookies: bool,
    /// Whether all locations of a probe share one `uprobe_multi` link.
    pub uprobe_multi: bool,
}

impl UsdtPlan {
    /// Creates the plan for a kernel with these features.
    pub fn for_features(features: &Features) -> Self {
        Self { cookies: features.has(Feature::Cookie), uprobe_multi: features.has(Feature::UprobeMulti) }
    }

    /// Creates the plan for an object. Returns `None` if the object lacks one of [`USDT_MAPS`].
    ///
    /// The value of the object's extern `LINUX_HAS_BPF_COOKIE` decides about cookies. Probing the kernel a
    /// second time could give another answer, and the programs would look for specifications in the wrong
    /// place.
    pub(super) fn for_object(
        linker: &ProgramLinker<'_, '_>,
        kconfig: &[u8],
        kernel: &TargetKernel,
    ) -> Option<Self> {
        let has_maps = USDT_MAPS.iter().all(|n| linker.maps.entries.iter().any(|m| m.name == n.as_bytes()));
        if !has_maps {
            return None;
        }
        let has_cookie = linker.externs.iter().find_map(|e| match e.binding {
            ExternBinding::Config(slot) if e.name == b"LINUX_HAS_BPF_COOKIE" => {
                let start = ByteOffset(slot.offset).index();
                let end = start.checked_add(ByteSize(slot.size).index())?;
                Some(kconfig.get(start..end)?.iter().any(|b| *b != 0))
            }
            _ => None,
        });
        Some(Self {
            cookies: has_cookie.unwrap_or_else(|| kernel.features.has(Feature::Cookie)),
            uprobe_multi: kernel.features.has(Feature::UprobeMulti),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        load_plan::LoadPlan,
        object::Object,
        test_support::{TestObject, kernel, load, returns},
    };
    use core_relo::btf::Builder;

    fn planned(maps: &[&str], has: fn(Feature) -> bool) -> Option<UsdtPlan> {
        let mut m = TestObject::new();
        for name in maps {
            m.map(name, &[("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", 1)], None);
        }
        m.program("main", "socket", &returns(0));
        let bytes = m.bytes();
        let object = Object::parse(&bytes).unwrap();
        let mut kernel = kernel(|_| {});
        kernel.features = Features::fixed(has);
        LoadPlan::new(&object, &crate::load_plan::Settings::default(), &kernel).unwrap().usdt()
    }

    #[test]
    fn the_plan_depends_on_the_maps_and_the_hosts_features() {
        assert_eq!(planned(&["table"], |_| true), None);
        let plan = |cookies, uprobe_multi| Some(UsdtPlan { cookies, uprobe_multi });
        assert_eq!(planned(&USDT_MAPS, |_| true), plan(true, true));
        assert_eq!(planned(&USDT_MAPS, |f| f != Feature::Cookie), plan(false, true));
        assert_eq!(planned(&USDT_MAPS, |f| f != Feature::UprobeMulti), plan(true, false));
    }

    #[test]
    fn the_extern_of_the_programs_takes_precedence_over_a_second_probe() {
        let mut m = TestObject::new();
        for name in USDT_MAPS {
            m.map(name, &[("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", 1)], None);
        }
        let code: Vec<_> = load(1, 0).into_iter().chain(returns(0)).collect();
        let main = m.program("main", "socket", &code);
        let bool = m.types.int("_Bool", 1, Builder::BOOL);
        let var = m.types.var("LINUX_HAS_BPF_COOKIE", bool, 2);
        m.types.datasec(".kconfig", 0, &[(var, 0, 1)]);
        let symbol = m.undefined("LINUX_HAS_BPF_COOKIE", false);
        m.refer(main, 0, symbol, false);
        let bytes = m.bytes();
        let object = Object::parse(&bytes).unwrap();
        let linker = ProgramLinker::collect(&object).unwrap();
        let mut kernel = kernel(|_| {});
        kernel.features = Features::fixed(|_| true);
        let cookies = |value: u8| UsdtPlan::for_object(&linker, &[value], &kernel).map(|plan| plan.cookies);
        assert_eq!((cookies(0), cookies(1)), (Some(false), Some(true)));
    }
}
