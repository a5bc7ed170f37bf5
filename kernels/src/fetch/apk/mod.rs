//! apk repositories (Alpine): the signed index, the kernels in it, and the hashes of packages.
//!
//! | file | contents |
//! |---|---|
//! | `index` | `APKINDEX.tar.gz`: its signature, and the kernels that it lists |
//! | `signature` | signatures by RSA keys, verified by `openssl` |
//! | `head` | the parts of a package before its files, which have the hash of the files |
//! | `gzip_member` | the first of several gzip streams in a file |
//! | `base64` | the checksums in an index |

mod base64;
mod gzip_member;
pub(crate) mod head;
pub(crate) mod index;
pub(crate) mod signature;
