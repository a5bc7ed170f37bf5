//! Fetches the kernels of distributions from their package repositories, and keeps them in a store.
//!
//! A [`KernelSpec`] such as `debian:12/6.1-cloud` selects kernels in the indexes of a mirror. A [`Fetcher`]
//! downloads their packages and stores what verdicts use: BTF, BTF of modules, configuration, version, image.
//! Nothing of a package is executed. The signature of an index protects the hashes of all packages.
//!
//! ```no_run
//! use core_relo_kernels::fetch::{FetchOptions, Fetcher, KernelSpec, Mirrors, NoProgress, Store};
//!
//! let (mirrors, store) = (Mirrors::default(), Store::of_user()?);
//! let fetcher = Fetcher::new(&mirrors, &store, FetchOptions::default(), &NoProgress);
//! let spec: KernelSpec = "debian:12/newest-of-each-series".parse()?;
//! for kernel in fetcher.find(&spec)? {
//!     let stored = fetcher.fetch(&kernel)?;
//!     println!("{}: {}", kernel.name(), stored.btf().display());
//! }
//! # Ok::<(), core_relo_kernels::fetch::FetchError>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `spec` | specifications of kernels, and the kernels that they select |
//! | `distribution` | the table of distributions |
//! | `mirrors` | the addresses of mirrors |
//! | `apt`, `deb822` | the format of apt's repositories |
//! | `apk`, `pacman`, `repositories` | the formats of apk's and pacman's repositories |
//! | `rpm_md`, `rpm_md_defect`, `rpm_version` | the format of the repositories of rpm distributions |
//! | `rpm_layout` | the layouts of these repositories |
//! | `signature`, `keyring` | signatures of indexes, and the keys |
//! | `repository`, `rpm_repository` | the kernels in the repositories of a release |
//! | `index_file` | an index of a repository, and its verification |
//! | `transport` | downloads: HTTP, retries, hashes |
//! | `sha256`, `hash`, `date` | hashes and dates as text |
//! | `btf_support` | the first kernels of distributions with BTF |
//! | `kernel_files` | the files of a kernel in its packages |
//! | `debug_info` | BTF from the debug information in another package |
//! | `module_files` | the files of modules, for guests that load them |
//! | `store` | the directory of fetched kernels |
//! | `lock_file` | the kernels that a project has chosen: `core-relo.lock` |
//! | `fetcher` | all of this together |
//! | `fuzzing` | the parsers, for fuzz targets |

mod address;
mod apk;
mod apt;
mod available;
mod btf_support;
mod date;
mod deb822;
mod debug_info;
mod distribution;
mod error;
mod fetcher;
#[doc(hidden)]
pub mod fuzzing;
mod hash;
mod index_file;
mod kernel_files;
mod kernel_version;
mod keyring;
mod lock_file;
mod mirrors;
mod module_files;
mod pacman;
mod repositories;
mod repository;
mod rpm_layout;
mod rpm_md;
mod rpm_md_defect;
mod rpm_repository;
mod rpm_version;
mod sha256;
mod signature;
mod spec;
mod store;
mod transport;

pub use address::{Address, AddressError};
pub use available::{AvailableKernel, KernelLine, KernelPackage, PackageRole, Protection};
pub use distribution::{Architecture, Archive, Distribution, DistributionRelease, IndexFormat, Suite};
pub use error::{FetchError, MirrorDefect};
pub use fetcher::{FetchOptions, Fetcher};
pub use lock_file::{LockFile, lock_path};
pub use mirrors::Mirrors;
pub use module_files::ModuleFiles;
pub use rpm_layout::RpmLayout;
pub use rpm_md_defect::RpmMdDefect;
pub use spec::{KernelSpec, SELECTION_WORDS, SpecError};
pub use store::{BtfOrigin, Manifest, Store, StoredFile, StoredKernel};
pub use transport::{NoProgress, Progress};
