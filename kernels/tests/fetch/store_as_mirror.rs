//! The directory of an earlier fetch as mirror.

use super::{Machine, Repository, file_address, kernel_btf, names_in, releases};
use core_relo_kernels::fetch::FetchError;
use std::fs;

#[test]
fn a_store_is_a_mirror_of_the_kernels_in_it() {
    let Some(repository) = Repository::new() else { return };
    let first = Machine::new(&file_address(&repository.apt.archive()));
    let kernel = first.find("debian:12").unwrap().remove(0);
    let original = first.fetch(&kernel).unwrap();

    let second = Machine::new(&file_address(first.store().root()));
    assert_eq!(releases(&second.find("debian:12/all").unwrap()), ["6.1.0-2-amd64"]);
    assert!(second.find("debian:12/cloud").is_err());
    let copy = second.fetch(&second.find("debian:12").unwrap()[0]).unwrap();
    assert_eq!(copy.manifest, original.manifest);
    assert_eq!(fs::read(copy.btf()).unwrap(), kernel_btf());
    assert_eq!(names_in(&copy.modules()), ["xfs.btf"]);
    assert_eq!(copy.bytes(), original.bytes());
    let modules = fs::metadata(copy.modules().join("xfs.btf")).unwrap().len();
    assert_eq!(copy.manifest.module_bytes, modules);

    // A kernel of a lock file that the store does not have.
    let other = first.find("debian:12/cloud").unwrap().remove(0);
    assert!(matches!(second.fetch(&other), Err(FetchError::Offline { .. })));
}

#[test]
fn damaged_kernels_of_a_store_are_not_copied() {
    let Some(repository) = Repository::new() else { return };
    let first = Machine::new(&file_address(&repository.apt.archive()));
    let stored = first.fetch(&first.find("debian:12").unwrap()[0]).unwrap();
    let module = stored.modules().join("xfs.btf");
    for path in [stored.btf(), module] {
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() - 1], &[&whole[..], b"x"].concat()] {
            fs::write(&path, damaged).unwrap();
            let second = Machine::new(&file_address(first.store().root()));
            let kernel = second.find("debian:12").unwrap().remove(0);
            let error = second.fetch(&kernel).unwrap_err();
            assert!(matches!(&error, FetchError::Damaged { .. }), "{error}");
            second.assert_empty();
        }
        fs::write(&path, whole).unwrap();
    }
}
