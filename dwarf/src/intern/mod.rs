//! The types of a shard, each stored once.
//!
//! A unit of a kernel repeats the types of all headers that it includes. Each type is assigned to a class,
//! whose key stops at named structs, unions and enumerations. Two types of one class are equal if the named
//! types that they reach are equal, too. In structs and unions, a forward declaration counts as equal to a
//! definition of its name, to which the record of the class then refers. A shard therefore keeps one
//! definition for each name. The types of a unit that reach another definition of a name are kept apart, and
//! [`dedup`](core_relo::btf::dedup) compares them at the end. Before that, forward declarations of structs
//! and unions to which other types refer become the definitions of their shard.
//!
//! The rule for forward declarations includes enumerations. If a declared and a defined enumeration made two
//! definitions of a struct, all types that reach the struct would be kept apart. Forward declarations of
//! these types would have no single definition in the shard.

mod classes;
mod forwards;
mod shard;
mod unit_classes;

pub(crate) use forwards::resolve_forwards;
pub(crate) use shard::ShardTypes;
