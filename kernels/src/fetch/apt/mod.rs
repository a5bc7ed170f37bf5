//! apt repositories: the signed index of a suite, its lists of packages, and the kernels in them.
//!
//! | file | contents |
//! |---|---|
//! | `sources` | the mirrors in the machine's configuration |
//! | `release` | `Release`: the hashes of the lists, and how long they are valid |
//! | `clear_signed` | `InRelease`: an index with its signature |
//! | `packages` | the kernels in a list of packages |

pub(crate) mod clear_signed;
pub(crate) mod packages;
pub(crate) mod release;
pub(crate) mod sources;
