//! The line of `requires`: all that an object asks of a kernel.

mod model;
mod names;
mod object;
mod program;

pub(crate) use model::{
    AccessJson, AttachPointJson, AttachTargetJson, ExternJson, ExternUseJson, HelperJson, InstructionSetJson,
    MapJson, MapSizesJson, ProgramJson, RequirementsJson, UseJson,
};
