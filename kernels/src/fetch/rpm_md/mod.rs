//! rpm-md repositories: the index `repodata/repomd.xml`, the list of packages `primary.xml`, and the kernels
//! in it.
//!
//! Format: openSUSE Wiki, "Standards Rpm Metadata"; createrepo_c, `src/xml_dump_primary.c` and
//! `src/xml_dump_repomd.c`.
//!
//! A repository has more lists: of files, of changes, of modules (`modules.yaml`), of advisories, of deltas,
//! and the same lists for SQLite and in zchunk. None of them is read. Packages of modular repositories are in
//! `primary.xml` like others, and no kernel is in a module.
//!
//! | file | contents |
//! |---|---|
//! | `xml` | XML within bounds |
//! | `repomd` | the index |
//! | `primary` | the list of packages |
//! | `kernels` | the kernels in a list |
//! | `mirror_list` | the address of a repository in a file of addresses |
//! | `path` | paths in lists, below the mirror's address |

pub(super) mod kernels;
pub(super) mod mirror_list;
pub(super) mod path;
pub(super) mod primary;
pub(super) mod repomd;
pub(super) mod xml;
