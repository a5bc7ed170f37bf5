//! The table of rules in which loaders differ, beside libbpf: it opens exactly the objects that the table says.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_opens_the_objects_that_the_table_says() {
    core_relo_tests::skip::skip("loaders", "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo_tests::libbpf;
    use core_relo_verdict::{
        loaders::{Loader, LoaderRule, Stance},
        test_support::loader_object,
    };

    #[test]
    fn libbpf_opens_the_objects_that_the_table_says() {
        for rule in LoaderRule::ALL {
            let is_refused = matches!(rule.stance(Loader::Libbpf), Stance::Refuses(_) | Stance::Unreached(_));
            let (opened, log) = libbpf::with_log(|| libbpf::open(&loader_object(*rule)).is_ok());
            assert_eq!(opened, !is_refused, "{rule:?}: {log}");
        }
    }
}
