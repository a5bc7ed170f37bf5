//! The attach points that fit a program, and the hook that the program gets there.

use super::{
    AttachPoint, AttachSite, InterfaceHook,
    attach_type::{
        attach_type_word, attach_types_of, cgroup_attach_types, is_of_cgroup, sockmap_attach_types,
    },
    kinds::fitting_kinds,
    point_error::AttachPointError,
};
use crate::attach::XdpMode;
use core_relo_object::object::{AttachType, ProgramType};
use std::path::Path;

impl AttachPoint {
    /// Checks that a program can have this attach point. The error names the kinds that fit, or the attach
    /// types.
    pub fn check_fits(
        &self,
        program_type: ProgramType,
        attach_type: Option<AttachType>,
    ) -> Result<(), AttachPointError> {
        self.check_kind(program_type)?;
        match &self.site {
            AttachSite::Interface { hook, .. } => interface_hook(*hook, program_type, attach_type).map(drop),
            AttachSite::Cgroup { attach_type: given, .. } => {
                self.cgroup_attach_type(program_type, given.or(attach_type)).map(drop)
            }
            AttachSite::Map { attach_type: given, .. } => {
                self.map_attach_type(program_type, given.or(attach_type)).map(drop)
            }
            AttachSite::Route(route) if !route.fits(program_type) => {
                Err(AttachPointError::UnfitRoute { point: self.text.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the kind of the attach point fits a program. The error names the kinds that fit.
    pub fn check_kind(&self, program_type: ProgramType) -> Result<(), AttachPointError> {
        let (kind, _) = self.text.split_once(':').unwrap_or((&self.text, ""));
        let fitting = fitting_kinds(program_type);
        if fitting.is_empty() {
            return Err(AttachPointError::NoAttachPoint { program_type });
        }
        if !fitting.contains(&kind) {
            return Err(AttachPointError::UnfitKind { point: self.text.clone(), program_type });
        }
        self.check_word(program_type)
    }

    /// Checks that the word after the last comma is a known attach type, or part of a path that exists.
    fn check_word(&self, program_type: ProgramType) -> Result<(), AttachPointError> {
        let (place, candidates): (&Path, Vec<_>) = match &self.site {
            AttachSite::Cgroup { path, attach_type: None } => (path, cgroup_attach_types().collect()),
            AttachSite::Map { map, attach_type: None } => (Path::new(map), sockmap_attach_types().collect()),
            _ => return Ok(()),
        };
        let may_be_type = |word: &str| !word.contains('/') && place.try_exists().is_ok_and(|exists| !exists);
        let Some((point, word)) = self.text.rsplit_once(',').filter(|(_, word)| may_be_type(word)) else {
            return Ok(());
        };
        let expected: Vec<_> =
            attach_types_of(program_type, &candidates).into_iter().map(attach_type_word).collect();
        if expected.is_empty() {
            return Ok(());
        }
        Err(AttachPointError::UnknownAttachType { word: word.to_owned(), place: point.to_owned(), expected })
    }

    /// Returns the text without an attach type.
    fn text_of_place(&self) -> &str {
        match &self.site {
            AttachSite::Cgroup { attach_type: Some(_), .. }
            | AttachSite::Map { attach_type: Some(_), .. } => {
                self.text.rsplit_once(',').map_or(&self.text, |(place, _)| place)
            }
            _ => &self.text,
        }
    }

    /// Returns the hook of a network interface that runs a program. `None` for another kind of attach point.
    pub fn interface_hook(
        &self,
        program_type: ProgramType,
        attach_type: Option<AttachType>,
    ) -> Result<Option<InterfaceHook>, AttachPointError> {
        match self.site {
            AttachSite::Interface { hook, .. } => interface_hook(hook, program_type, attach_type).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the attach type with which a program is attached to a cgroup.
    pub fn cgroup_attach_type(
        &self,
        program_type: ProgramType,
        attach_type: Option<AttachType>,
    ) -> Result<AttachType, AttachPointError> {
        let candidates: Vec<_> = cgroup_attach_types().collect();
        self.one_attach_type(program_type, attach_type.filter(|given| is_of_cgroup(*given)), &candidates)
    }

    /// Returns the attach type with which a program is attached to a map.
    pub fn map_attach_type(
        &self,
        program_type: ProgramType,
        attach_type: Option<AttachType>,
    ) -> Result<AttachType, AttachPointError> {
        let candidates: Vec<_> = sockmap_attach_types().collect();
        self.one_attach_type(program_type, attach_type, &candidates)
    }

    /// Returns the attach type that is given or, if the program type has only one, this one. The tracing
    /// programs of cgroups and maps are iterators.
    fn one_attach_type(
        &self,
        program_type: ProgramType,
        given: Option<AttachType>,
        candidates: &[AttachType],
    ) -> Result<AttachType, AttachPointError> {
        if program_type == ProgramType::Tracing {
            return Ok(AttachType::TraceIter);
        }
        let types = attach_types_of(program_type, candidates);
        match (given, types.as_slice()) {
            (Some(given), types) if types.contains(&given) => Ok(given),
            (None, [only]) => Ok(*only),
            (given, types) => {
                let expected = types.iter().map(|of| attach_type_word(*of)).collect();
                let (point, place) = (self.text.clone(), self.text_of_place().to_owned());
                Err(AttachPointError::UnfitAttachType { point, place, program_type, given, expected })
            }
        }
    }
}

/// Returns the hook of an interface for a program.
fn interface_hook(
    hook: Option<InterfaceHook>,
    program_type: ProgramType,
    attach_type: Option<AttachType>,
) -> Result<InterfaceHook, AttachPointError> {
    use AttachType as A;
    let by_type = || match (program_type, attach_type) {
        (ProgramType::Xdp, _) => Some(InterfaceHook::Xdp(XdpMode::Any)),
        (_, Some(of @ (A::TcxIngress | A::TcxEgress | A::NetkitPrimary | A::NetkitPeer))) => {
            Some(InterfaceHook::Classifier(of))
        }
        _ => None,
    };
    let hook = hook.or_else(by_type).ok_or(AttachPointError::MissingDirection { program_type })?;
    if matches!(hook, InterfaceHook::Xdp(_)) == (program_type == ProgramType::Xdp) {
        return Ok(hook);
    }
    Err(AttachPointError::UnfitHook { program_type })
}
