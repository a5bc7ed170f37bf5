//! Structs with fields that the kernel manages, such as locks and lists (kernel: `btf_parse_struct_metas`,
//! `btf_check_and_fixup_fields`).
//!
//! A struct is checked if a member has the type of such a field. The kernel also looks up the types of kptrs
//! among its own, which is not done here.

mod search;

use super::{
    checker::{Checker, Part},
    managed::{ManagedError, ManagedFeatures, ManagedField, ManagedRules},
    records::Record,
    rule::BtfRule,
    rules::KernelBtfRules,
};
use crate::{format::Kind, ids::TypeId};
use alloc::vec::Vec;
use hashbrown::{HashMap, HashSet};
use search::{Field, FieldError, LONGEST_NAME, Search};

/// A struct that is refused.
struct Refused<'d> {
    id: TypeId,
    record: Record<'d>,
    part: Part,
    error: ManagedError,
}

impl Checker<'_> {
    /// Checks all structs with fields that the kernel manages. The types violate no other rules.
    pub(super) fn check_managed_fields(&mut self) {
        let features = match self.rules.managed {
            ManagedRules::Checked(features) => features,
            ManagedRules::Unchecked => return,
            ManagedRules::Several => {
                self.refuse_managed_types();
                return;
            }
        };
        if self.managed_type(&features).is_none() {
            return;
        }
        let mut search = Search::new(&self.records, &features);
        let sought: HashSet<TypeId> = search.sought_types().into_iter().collect();
        let (mut refused, mut checked) = (Vec::new(), HashMap::new());
        for id in self.records.ids() {
            let Some(record) = self.records.get(id).filter(|record| record.kind() == Kind::Struct) else {
                continue;
            };
            if !record.members(0).any(|(_, member)| sought.contains(&member.ty)) {
                continue;
            }
            match check_struct(&mut search, id, record) {
                Ok(fields) => {
                    checked.insert(id, fields);
                }
                Err(FieldError { member, error }) => {
                    let member = member.and_then(|index| record.members(index).next());
                    let part = member.map_or(Part::Whole, |(index, member)| Part::Member(index, member.name));
                    refused.push(Refused { id, record, part, error });
                }
            }
        }
        // The kernel compares the owners when all structs are known.
        let is_flat = features.flat_ownership;
        let owners = if is_flat { nested_owners(&checked) } else { circular_owners(&checked) };
        for id in self.records.ids().filter(|id| owners.contains(id)) {
            let Some(record) = self.records.get(id) else { continue };
            let error = if is_flat { ManagedError::NestedOwnership } else { ManagedError::OwnershipCycle };
            refused.push(Refused { id, record, part: Part::Whole, error });
        }
        for Refused { id, record, part, error } in refused {
            self.report(id, record, part, BtfRule::Managed(error));
        }
    }

    /// Reports a type of fields, for rules of kernels that differ.
    fn refuse_managed_types(&mut self) {
        let ManagedRules::Checked(newest) = KernelBtfRules::newest().managed else { return };
        if let Some(id) = self.managed_type(&newest)
            && let Some(record) = self.records.get(id)
        {
            self.report(id, record, Part::Whole, BtfRule::Managed(ManagedError::SeveralKernels));
        }
    }

    /// Returns a struct or type tag that makes the kernel check structs, if there is one.
    fn managed_type(&self, features: &ManagedFeatures) -> Option<TypeId> {
        self.records.ids().find(|id| {
            let kind = self.records.kind(*id);
            if !matches!(kind, Some(Kind::Struct | Kind::TypeTag)) {
                return false;
            }
            let name = self.records.get(*id).map(|record| record.name_offset);
            let Some(name) = name.and_then(|name| self.records.short_string(name, LONGEST_NAME)) else {
                return false;
            };
            match kind {
                Some(Kind::Struct) => ManagedField::from_name(name, features).is_some(),
                _ => features.kptrs && name.ends_with(b"ptr"),
            }
        })
    }
}

/// Checks a struct, and returns its fields (kernel: `btf_parse_fields`).
fn check_struct<'d>(
    search: &mut Search<'_, 'd>,
    id: TypeId,
    record: Record<'d>,
) -> Result<Vec<Field<'d>>, FieldError> {
    let whole = |error| FieldError { member: None, error };
    let fields = search.fields(id, record)?;
    if fields.is_empty() {
        return Err(whole(ManagedError::None));
    }
    let mut next_offset = 0;
    for field in &fields {
        if field.offset < next_offset {
            return Err(whole(ManagedError::Overlap));
        }
        next_offset = field.offset.wrapping_add(search.bytes(field.kind));
        search.check_node(*field).map_err(whole)?;
    }
    let count = |kind| fields.iter().filter(|field| field.kind == kind).count();
    let unique = [ManagedField::SpinLock, ManagedField::ResilientSpinLock, ManagedField::Refcount];
    if let Some(kind) = unique.into_iter().find(|kind| search.has_unique_fields() && count(*kind) > 1) {
        return Err(whole(ManagedError::Second(kind)));
    }
    let has = |kind| count(kind) > 0;
    let has_lock = has(ManagedField::SpinLock) || has(ManagedField::ResilientSpinLock);
    if has(ManagedField::SpinLock) && has(ManagedField::ResilientSpinLock) {
        return Err(whole(ManagedError::TwoLocks));
    }
    let root = [ManagedField::ListHead, ManagedField::RbRoot].into_iter().find(|root| has(*root));
    if let Some(root) = root.filter(|_| !has_lock) {
        return Err(whole(ManagedError::NoLock(root)));
    }
    if has(ManagedField::ListNode) && has(ManagedField::RbNode) && !has(ManagedField::Refcount) {
        return Err(whole(ManagedError::NoRefcount));
    }
    Ok(fields)
}

/// The checked structs, with their fields.
type Checked<'d> = HashMap<TypeId, Vec<Field<'d>>>;

/// Returns the structs that may be owned, and own structs that own others.
fn nested_owners(checked: &Checked<'_>) -> HashSet<TypeId> {
    let is_node = |field: &Field<'_>| matches!(field.kind, ManagedField::ListNode | ManagedField::RbNode);
    let is_root = |field: &Field<'_>| field.kind.node().is_some();
    let owns_owners = |fields: &[Field<'_>]| {
        let owned = fields.iter().filter_map(|field| checked.get(&field.owned?.ty));
        fields.iter().any(is_node) && owned.flatten().any(is_root)
    };
    checked.iter().filter(|(_, fields)| owns_owners(fields)).map(|(id, _)| *id).collect()
}

/// Returns the structs that own themselves, directly or through others, and those that own such structs.
fn circular_owners(checked: &Checked<'_>) -> HashSet<TypeId> {
    let owned = |fields: &[Field<'_>]| -> HashSet<TypeId> {
        fields
            .iter()
            .filter_map(|field| Some(field.owned?.ty))
            .filter(|ty| checked.contains_key(ty))
            .collect()
    };
    let mut left: HashMap<TypeId, HashSet<TypeId>> =
        checked.iter().map(|(id, fields)| (*id, owned(fields))).collect();
    let mut owners: HashMap<TypeId, Vec<TypeId>> = HashMap::new();
    for (id, owned) in &left {
        owned.iter().for_each(|ty| owners.entry(*ty).or_default().push(*id));
    }
    // Takes away the structs that own none of the others, again and again.
    let mut leaves: Vec<TypeId> =
        left.iter().filter(|(_, owned)| owned.is_empty()).map(|(id, _)| *id).collect();
    while let Some(leaf) = leaves.pop() {
        left.remove(&leaf);
        for owner in owners.get(&leaf).map_or(&[][..], Vec::as_slice) {
            if let Some(owned) = left.get_mut(owner)
                && owned.remove(&leaf)
                && owned.is_empty()
            {
                leaves.push(*owner);
            }
        }
    }
    left.into_keys().collect()
}
