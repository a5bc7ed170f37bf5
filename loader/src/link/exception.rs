//! The subprogram that runs when a program throws, named by a tag on the program.

use super::LinkError;
use crate::{
    elf::text,
    object::{Linkage, Object, Program},
};
use core_relo::btf::{Kind, Type};

/// What the tag's name begins with.
const PREFIX: &[u8] = b"exception_callback:";

/// The callback of a program: its number among the object's programs (libbpf: `bpf_prog_assign_exc_cb`).
pub(super) fn callback(object: &Object<'_>, program: &Program<'_>) -> Result<Option<usize>, LinkError> {
    let Some(btf) = object.btf() else { return Ok(None) };
    let mut found = None;
    for tag in btf.types().filter(|t| t.kind() == Kind::DeclTag && t.component_index() == Some(-1)) {
        let Some(name) = tag.name().as_bytes().strip_prefix(PREFIX) else { continue };
        let fail =
            |what| LinkError::ExceptionCallback { program: text(program.name), callback: text(name), what };
        let on = tag.target().and_then(|id| btf.ty(id));
        let on = on.filter(|t: &Type<'_>| t.kind() == Kind::Func && t.linkage() == Some(1));
        let on = on.ok_or_else(|| fail("is not a tag of a global function"))?;
        if on.name().as_bytes() != program.name {
            continue;
        }
        if found.is_some() {
            // The verifier refuses two.
            return Ok(None);
        }
        let mut of_the_name =
            object.programs().iter().enumerate().filter(|(_, p)| p.is_subprogram && p.name == name);
        let (at, callback) = of_the_name.next().ok_or_else(|| fail("is not a function of the object"))?;
        if callback.linkage == Linkage::Static || callback.hidden {
            return Err(fail("has to be global and not hidden"));
        }
        found = Some(at);
    }
    Ok(found)
}
