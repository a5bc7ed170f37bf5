//! The features of the kernel that USDT programs see and their probes are attached with. Both have to agree.

use super::Host;
use crate::{
    features::{Feature, Features},
    link::{ProgramLinker, externs::ExternBinding},
};

/// The maps of libbpf's `usdt.bpf.h`: specifications, and their numbers by address.
pub const USDT_MAPS: [&str; 2] = ["__bpf_usdt_specs", "__bpf_usdt_ip_to_spec_id"];

/// How USDT probes are attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsdtPlan {
    /// A probe's specification is known by its cookie; otherwise by its address.
    pub cookies: bool,
    /// The places of a probe share one link.
    pub uprobe_multi: bool,
}

impl UsdtPlan {
    /// Plans for a kernel with these features.
    pub fn for_features(features: &Features) -> Self {
        Self { cookies: features.has(Feature::Cookie), uprobe_multi: features.has(Feature::UprobeMulti) }
    }

    /// For an object with the maps. What its programs are told (`LINUX_HAS_BPF_COOKIE`) counts: a question asked twice may be
    /// answered differently, and then they would look where nothing is.
    pub(super) fn plan(parts: &ProgramLinker<'_, '_>, kconfig: &[u8], host: &Host) -> Option<Self> {
        let has_maps = USDT_MAPS.iter().all(|n| parts.maps.entries.iter().any(|m| m.name == n.as_bytes()));
        if !has_maps {
            return None;
        }
        let told = parts.externs.iter().find_map(|e| match e.binding {
            ExternBinding::Config(slot) if e.name == b"LINUX_HAS_BPF_COOKIE" => {
                let from = usize::try_from(slot.offset).ok()?;
                let end = from.checked_add(usize::try_from(slot.size).ok()?)?;
                Some(kconfig.get(from..end)?.iter().any(|b| *b != 0))
            }
            _ => None,
        });
        Some(Self {
            cookies: told.unwrap_or_else(|| host.features.has(Feature::Cookie)),
            uprobe_multi: host.features.has(Feature::UprobeMulti),
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
        let mut host = kernel(|_| {});
        host.features = Features::fixed(has);
        LoadPlan::new(&object, &crate::load_plan::Settings::default(), &host).unwrap().usdt
    }

    #[test]
    fn only_objects_with_the_maps_ask_and_what_the_host_says_counts() {
        assert_eq!(planned(&["table"], |_| true), None);
        let of = |cookies, uprobe_multi| Some(UsdtPlan { cookies, uprobe_multi });
        assert_eq!(planned(&USDT_MAPS, |_| true), of(true, true));
        assert_eq!(planned(&USDT_MAPS, |f| f != Feature::Cookie), of(false, true));
        assert_eq!(planned(&USDT_MAPS, |f| f != Feature::UprobeMulti), of(true, false));
    }

    #[test]
    fn what_programs_are_told_goes_before_a_second_answer() {
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
        let parts = ProgramLinker::collect(&object).unwrap();
        let mut host = kernel(|_| {});
        host.features = Features::fixed(|_| true);
        let cookies = |told: u8| UsdtPlan::plan(&parts, &[told], &host).map(|plan| plan.cookies);
        assert_eq!((cookies(0), cookies(1)), (Some(false), Some(true)));
    }
}
