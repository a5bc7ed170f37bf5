//! apt repositories: the signed index of a suite, its lists of packages, and the kernels in them.
//!
//! | file | contents |
//! |---|---|
//! | `sources` | the mirrors in the machine's configuration |
//! | `release` | `Release`: the hashes of the lists, and how long they are valid |
//! | `signature` | signatures, verified by `gpgv` or `sqv` |
//! | `packages` | the kernels in a list of packages |

pub(crate) mod packages;
pub(crate) mod release;
pub(crate) mod signature;
pub(crate) mod sources;
