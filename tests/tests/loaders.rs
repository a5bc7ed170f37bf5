//! The table of rules in which loaders differ, beside libbpf and core-relo: they open exactly the objects that the table says. The column of
//! aya is tested in `benches/tests/aya_rules.rs`.

use core_relo_loader::object::{Map, Object};
use core_relo_verdict::{
    loaders::{Loader, LoaderRule, Stance},
    test_support::loader_object,
};

fn is_refused(rule: LoaderRule, loader: Loader) -> bool {
    matches!(rule.stance(loader), Stance::Refuses(_) | Stance::Unreached(_))
}

#[test]
fn core_relo_opens_the_objects_that_the_table_says() {
    for rule in LoaderRule::ALL {
        let bytes = loader_object(*rule);
        let object = Object::parse(&bytes);
        // The load plan refuses the sixth word of a legacy map.
        let is_loaded = |map: &Map<'_>| map.def.as_ref().is_ok_and(|def| def.legacy_id.is_none());
        let opens = object.is_ok_and(|object| object.maps().iter().all(is_loaded));
        assert_eq!(opens, !is_refused(*rule, Loader::CoreRelo), "{rule:?}");
    }
}

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_opens_the_objects_that_the_table_says() {
    core_relo_tests::skip::skip("loaders", "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use super::*;
    use core_relo_tests::libbpf;

    #[test]
    fn libbpf_opens_the_objects_that_the_table_says() {
        for rule in LoaderRule::ALL {
            let (opened, log) = libbpf::with_log(|| libbpf::open(&loader_object(*rule)).is_ok());
            assert_eq!(opened, !is_refused(*rule, Loader::Libbpf), "{rule:?}: {log}");
        }
    }
}
