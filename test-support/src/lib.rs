//! What the tests of all crates share: reports of skipped tests, the parts of a machine that they need, and
//! compilers.
//!
//! The crate has no dependencies, so that the tests of every crate can use it.

mod apt_repository;
mod clang;
mod requirement;
mod rpm_repository;
mod skip;
mod tools;

pub use apt_repository::AptRepository;
pub use clang::{Clang, OLDEST_CLANG, clang, find_clangs};
pub use requirement::{REQUIRE, Requirement};
pub use rpm_repository::{RpmPackage, RpmRepository};
pub use skip::{skip, skip_without, this_test};
