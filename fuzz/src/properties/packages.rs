//! Properties of packages: paths stay in the package, and files have the length that the package declares.

use core_relo_kernels::{Limits, package::Package};
use std::{
    ops::ControlFlow,
    path::{Component, Path},
};

/// The limit for a file.
const FILE_BYTES: u64 = 64 << 10;

/// Reads all files of a package.
pub fn check(data: &[u8]) {
    let limits = Limits::new(Some(FILE_BYTES));
    let Ok(package) = Package::open(Path::new("package"), data, data.len() as u64, limits) else { return };
    let _end = package.visit_files(&mut |file| {
        assert!(file.path.components().all(|part| matches!(part, Component::Normal(_))), "{:?}", file.path);
        let len = file.len;
        if let Ok(content) = file.read_whole(u64::MAX) {
            assert_eq!(content.len() as u64, len);
            assert!(len <= FILE_BYTES);
        }
        ControlFlow::Continue(())
    });
}
