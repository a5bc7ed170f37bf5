//! The requirements of an object in words, as `core-relo requires` prints them: names, counts, and the first
//! place of each use.
//!
//! [`requirements`](crate::requirements) are what verdicts are computed from. A listing is for people and
//! other programs.

mod group;
mod model;
mod names;
mod object;
mod program;

pub use model::{
    AccessUse, AttachPointListing, AttachTargetListing, ComparisonUse, ExternListing, ExternUse, HelperUse,
    InstructionSetUse, MapListing, MapSizes, ObjectListing, ProgramListing, Use,
};
