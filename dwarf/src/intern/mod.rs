//! The types of a shard, each stored once.
//!
//! A unit of a kernel repeats the types of all headers that it includes. Each type is assigned to a class,
//! whose key stops at named structs and unions. Two types of one class are equal if the named structs and
//! unions that they reach are equal, too. In structs and unions, a forward declaration counts as equal to a
//! definition of its name, to which the record of the class then refers. A shard therefore keeps one
//! definition for each name. The types of a unit that reach another definition of a name are kept apart, and
//! [`dedup`](core_relo::btf::dedup) compares them at the end. Before that, forward declarations of other
//! types become the definitions of their shard.

mod classes;
mod forwards;
mod shard;
mod unit_classes;

pub(crate) use forwards::resolve_forwards;
pub(crate) use shard::ShardTypes;
