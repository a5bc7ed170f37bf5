//! The comparison of two BTFs.

use super::{
    changes::{
        Change, ChangeKind, Details, Enumerator, EnumeratorChange, Member, MemberChange, Side, TypeSide,
    },
    fields::{Field, FieldBudget, fields},
    items::{Item, ItemKind, Items, add_kfuncs},
    shape::{BtfShapes, Shape, Shapes, is_anonymous},
    uses::ObjectUses,
};
use alloc::collections::BTreeMap;
use core::{cmp::Ordering, iter::Peekable};
use core_relo::{
    Name,
    btf::{Btf, Enumerator as BtfEnumerator, Kind, Type},
    explain::{declare, declare_function},
};
use hashbrown::HashSet;

/// The declarations to compare.
#[expect(clippy::exhaustive_structs, reason = "callers create filters")]
pub struct Filter<'f> {
    /// Returns whether declarations of a kind and name are compared.
    pub is_wanted: &'f dyn Fn(ItemKind, &[u8]) -> bool,
    /// What an object uses. Other declarations, members and enumerators are left out.
    pub uses: Option<&'f ObjectUses>,
}

impl core::fmt::Debug for Filter<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Filter").field("uses", &self.uses).finish_non_exhaustive()
    }
}

/// Returns the differences between two BTFs, by kind and name.
pub fn diff<'b>(old: &'b Btf<'b>, new: &'b Btf<'b>, filter: &Filter<'_>) -> Vec<Change> {
    let mut kfuncs = HashSet::new();
    add_kfuncs(old, &mut kfuncs);
    add_kfuncs(new, &mut kfuncs);
    let is_wanted = |kind: ItemKind, name: &[u8]| {
        (filter.is_wanted)(kind, name) && filter.uses.is_none_or(|uses| uses.has_item(kind, name))
    };
    let old_items = Items::collect(old, &kfuncs, is_wanted);
    let new_items = Items::collect(new, &kfuncs, is_wanted);
    let mut comparison = Comparison {
        shapes: Shapes::default(),
        old: BtfShapes::new(old),
        new: BtfShapes::new(new),
        budget: FieldBudget::default(),
        uses: filter.uses,
        changes: Vec::new(),
    };
    let constants = enumerator_changes(&old_items.constants, &new_items.constants, |_| true);
    let (mut olds, mut news) = (old_items.named.iter().peekable(), new_items.named.iter().peekable());
    while let Some(key) = next_key(&mut olds, &mut news) {
        let of_key = |items: &mut Peekable<core::slice::Iter<'_, Item<'b>>>| {
            core::iter::from_fn(|| items.next_if(|item| item_key(item) == key)).copied().collect::<Vec<_>>()
        };
        let (old_group, new_group) = (of_key(&mut olds), of_key(&mut news));
        comparison.compare_group(old_group, new_group);
    }
    let mut changes = comparison.changes;
    if !constants.is_empty() {
        let side = |text: &str| Some(TypeSide { text: text.to_owned(), size: None });
        let change = Change {
            kind: ItemKind::Enum,
            name: String::new(),
            change: ChangeKind::Changed,
            declaration: Side { old: side("enum"), new: side("enum") },
            details: Details::Enumerators(constants),
        };
        let position = changes.partition_point(|other| other.kind < ItemKind::Enum);
        changes.insert(position, change);
    }
    changes
}

fn item_key<'b>(item: &Item<'b>) -> (ItemKind, Name<'b>) {
    (item.kind, item.ty.name())
}

fn next_key<'i, 'b: 'i>(
    olds: &mut Peekable<impl Iterator<Item = &'i Item<'b>>>,
    news: &mut Peekable<impl Iterator<Item = &'i Item<'b>>>,
) -> Option<(ItemKind, Name<'b>)> {
    let (old, new) = (olds.peek().map(|item| item_key(item)), news.peek().map(|item| item_key(item)));
    old.into_iter().chain(new).min()
}

/// The state of a comparison.
struct Comparison<'b, 'f> {
    shapes: Shapes<'b>,
    old: BtfShapes<'b>,
    new: BtfShapes<'b>,
    budget: FieldBudget,
    uses: Option<&'f ObjectUses>,
    changes: Vec<Change>,
}

impl<'b> Comparison<'b, '_> {
    /// Compares the declarations of a kind and name. A kernel may have several, whose order has no meaning:
    /// those that only one BTF has are compared in the order of their ids.
    fn compare_group(&mut self, olds: Vec<Item<'b>>, news: Vec<Item<'b>>) {
        let olds = self.shapes.distinct(&mut self.old, olds);
        let news = self.shapes.distinct(&mut self.new, news);
        let only = |items: &BTreeMap<Shape, Item<'b>>, others: &BTreeMap<Shape, Item<'b>>| -> Vec<_> {
            let mut only: Vec<_> = items
                .iter()
                .filter(|(shape, _)| !others.contains_key(shape))
                .map(|(_, item)| *item)
                .collect();
            only.sort_by_key(|item| item.ty.id());
            only
        };
        let mut old_only = only(&olds, &news).into_iter();
        let mut new_only = only(&news, &olds).into_iter();
        loop {
            let sides = Side { old: old_only.next(), new: new_only.next() };
            if sides.old.is_none() && sides.new.is_none() {
                return;
            }
            let change = self.compare(&sides);
            self.changes.extend(change);
        }
    }

    fn compare(&mut self, items: &Side<Item<'b>>) -> Option<Change> {
        let item = items.old.or(items.new)?;
        let text = Name::shortened(item.ty.name()).to_string();
        let side = |types: &BtfShapes<'b>, item: Option<Item<'b>>| Some(type_side(types.btf, item?, &text));
        let declaration = Side { old: side(&self.old, items.old), new: side(&self.new, items.new) };
        let body = |types: &BtfShapes<'b>, item: Item<'b>| body_of(types.btf, item.ty);
        let details = match (items.old, items.new) {
            (Some(old), Some(new)) => self.compare_bodies(item, body(&self.old, old), body(&self.new, new)),
            _ => Details::None,
        };
        let change = declaration.kind();
        // Members that are the same in another order or nesting make no difference.
        let is_same = match &details {
            Details::Members(members) => {
                members.is_empty() && (self.uses.is_some() || same_size(&declaration))
            }
            Details::Enumerators(values) => {
                values.is_empty() && (self.uses.is_some() || same_size(&declaration))
            }
            Details::None => false,
        };
        (change != ChangeKind::Changed || !is_same).then_some(Change {
            kind: item.kind,
            name: text,
            change,
            declaration,
            details,
        })
    }

    fn compare_bodies(&mut self, item: Item<'b>, old: Type<'b>, new: Type<'b>) -> Details {
        let name = item.ty.name().as_bytes();
        let uses = self.uses;
        let is_used = |element: &[u8]| uses.is_none_or(|uses| uses.has_element(name, element));
        if old.kind().is_composite() && new.kind() == old.kind() {
            let olds = fields(&mut self.shapes, &mut self.old, old, &mut self.budget);
            let news = fields(&mut self.shapes, &mut self.new, new, &mut self.budget);
            return Details::Members(self.member_changes(&olds, &news, is_used));
        }
        if old.kind().is_enum() && new.kind().is_enum() {
            let sorted = |ty: Type<'b>| {
                let mut all: Vec<_> = ty.enumerators().collect();
                all.sort_by_key(|enumerator| (enumerator.name, enumerator.c_value()));
                all
            };
            return Details::Enumerators(enumerator_changes(&sorted(old), &sorted(new), is_used));
        }
        Details::None
    }

    fn member_changes(
        &self,
        olds: &[Field],
        news: &[Field],
        is_used: impl Fn(&[u8]) -> bool,
    ) -> Vec<MemberChange> {
        let mut changes = Vec::new();
        for (old, new) in merge(olds, news, |a, b| a.path.cmp(&b.path)) {
            let Some(path) = old.or(new).map(|field| &*field.path).filter(|path| is_used(path)) else {
                continue;
            };
            let change = match (old, new) {
                (Some(old), Some(new)) if !old.has_type_of(new) => ChangeKind::Changed,
                (Some(old), Some(new)) if old.bit_offset != new.bit_offset => ChangeKind::Moved,
                (Some(_), Some(_)) => continue,
                (Some(_), None) => ChangeKind::Removed,
                _ => ChangeKind::Added,
            };
            let name = Name::new(path).shortened().to_string();
            let offset = new.or(old).map_or(0, |field| field.bit_offset);
            let old = old.map(|field| member(self.old.btf, field, &name));
            let new = new.map(|field| member(self.new.btf, field, &name));
            changes.push((offset, MemberChange { name, change, member: Side { old, new } }));
        }
        changes.sort_by_key(|(offset, _)| *offset);
        changes.into_iter().map(|(_, change)| change).collect()
    }
}

impl<'b> Shapes<'b> {
    /// Returns the distinct declarations, each with the first item.
    fn distinct(&mut self, types: &mut BtfShapes<'b>, items: Vec<Item<'b>>) -> BTreeMap<Shape, Item<'b>> {
        let mut distinct = BTreeMap::new();
        for item in items {
            distinct.entry(self.declaration(types, item.ty)).or_insert(item);
        }
        distinct
    }
}

/// Returns the pairs of equal elements of two sorted slices, and the elements of one slice alone.
fn merge<'s, T>(
    olds: &'s [T],
    news: &'s [T],
    compare: impl Fn(&T, &T) -> Ordering,
) -> Vec<(Option<&'s T>, Option<&'s T>)> {
    let (mut olds, mut news) = (olds.iter().peekable(), news.iter().peekable());
    let mut pairs = Vec::new();
    loop {
        let order = match (olds.peek(), news.peek()) {
            (None, None) => return pairs,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => compare(old, new),
        };
        pairs.push((
            if order.is_le() { olds.next() } else { None },
            if order.is_ge() { news.next() } else { None },
        ));
    }
}

fn enumerator_changes(
    olds: &[BtfEnumerator<'_>],
    news: &[BtfEnumerator<'_>],
    is_used: impl Fn(&[u8]) -> bool,
) -> Vec<EnumeratorChange> {
    let mut changes = Vec::new();
    for (old, new) in merge(olds, news, |a, b| a.name.cmp(&b.name)) {
        let Some(name) = old.or(new).map(|enumerator| enumerator.name) else { continue };
        let value = Side {
            old: old.map(|enumerator| Enumerator { value: value(enumerator) }),
            new: new.map(|enumerator| Enumerator { value: value(enumerator) }),
        };
        if value.old != value.new && is_used(name.as_bytes()) {
            let name = name.shortened().to_string();
            changes.push(EnumeratorChange { name, change: value.kind(), value });
        }
    }
    changes.sort_by_key(|change| change.value.new.or(change.value.old));
    changes
}

/// Returns an enumerator's value in C.
fn value(enumerator: &BtfEnumerator<'_>) -> i128 {
    let value = enumerator.c_value();
    if enumerator.signed { value.cast_signed().into() } else { value.into() }
}

fn member(btf: &Btf<'_>, field: &Field, name: &str) -> Member {
    let mut text = declare(btf, field.ty, name);
    if let Some(bits) = field.bits.filter(|_| field.is_bitfield) {
        text = format!("{text} : {bits}");
    }
    Member { text, bit_offset: field.bit_offset, bits: field.bits, is_bitfield: field.is_bitfield }
}

fn same_size(declaration: &Side<TypeSide>) -> bool {
    let size = |side: &Option<TypeSide>| side.as_ref().and_then(|side| side.size);
    size(&declaration.old) == size(&declaration.new)
}

/// Returns the type with the members or values of a declaration: under a typedef, the anonymous type.
fn body_of<'b>(btf: &'b Btf<'b>, ty: Type<'b>) -> Type<'b> {
    let target = ty.target().filter(|_| ty.kind() == Kind::Typedef).and_then(|id| btf.ty(id));
    target.filter(|target| is_anonymous(*target)).unwrap_or(ty)
}

fn type_side(btf: &Btf<'_>, item: Item<'_>, name: &str) -> TypeSide {
    let ty = item.ty;
    let target = ty.target().and_then(|id| btf.ty(id));
    let text = match (ty.kind(), target) {
        (Kind::Func, Some(proto)) => declare_function(btf, proto, name, 0),
        (Kind::Typedef, Some(pointer)) if item.kind == ItemKind::Tracepoint => tracepoint(btf, pointer, name),
        (Kind::Typedef, Some(target)) => format!("typedef {}", declare(btf, target.id(), name)),
        (Kind::Var, Some(target)) => declare(btf, target.id(), name),
        (kind, _) => format!("{} {name}", if kind == Kind::Enum64 { "enum" } else { kind.keyword() }),
    };
    let body = match target {
        Some(target) if ty.kind() == Kind::Typedef && is_anonymous(target) => target,
        _ => ty,
    };
    let has_size = body.kind().is_composite() || body.kind().is_enum();
    TypeSide { text, size: body.size().filter(|_| has_size).map(|size| size.0) }
}

/// Returns the prototype of a tracepoint, without the data of the registration.
fn tracepoint(btf: &Btf<'_>, pointer: Type<'_>, name: &str) -> String {
    let proto = pointer.target().and_then(|id| btf.ty(id)).filter(|ty| ty.kind() == Kind::FuncProto);
    match proto {
        Some(proto) => declare_function(btf, proto, name, 1),
        None => format!("typedef {}", declare(btf, pointer.id(), name)),
    }
}
