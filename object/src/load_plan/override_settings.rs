//! Settings that override others.

use super::{MapSettings, ProgramSettings};

impl ProgramSettings {
    /// Sets what `other` sets. Other settings stay as they are; flags are added.
    pub fn override_with(&mut self, other: &Self) {
        let Self {
            autoload,
            autoattach,
            section,
            program_type,
            attach_type,
            flags,
            ifindex,
            attach_to,
            log_level,
        } = other;
        set(&mut self.autoload, autoload.as_ref());
        set(&mut self.autoattach, autoattach.as_ref());
        set(&mut self.section, section.as_ref());
        set(&mut self.program_type, program_type.as_ref());
        set(&mut self.attach_type, attach_type.as_ref());
        self.flags |= flags;
        set_device(&mut self.ifindex, *ifindex);
        set(&mut self.attach_to, attach_to.as_ref());
        set(&mut self.log_level, log_level.as_ref());
    }
}

impl MapSettings {
    /// Sets what `other` sets. Other settings stay as they are; members and elements that `other` lacks keep
    /// their programs.
    pub fn override_with(&mut self, other: &Self) {
        let Self {
            autocreate,
            autoattach,
            max_entries,
            value_size,
            key_size,
            map_type,
            map_flags,
            map_extra,
            numa_node,
            ifindex,
            exclusive_to,
            pin,
            reuse,
            inner,
            data,
            programs,
            elements,
        } = other;
        set(&mut self.autocreate, autocreate.as_ref());
        set(&mut self.autoattach, autoattach.as_ref());
        set(&mut self.max_entries, max_entries.as_ref());
        set(&mut self.value_size, value_size.as_ref());
        set(&mut self.key_size, key_size.as_ref());
        set(&mut self.map_type, map_type.as_ref());
        set(&mut self.map_flags, map_flags.as_ref());
        set(&mut self.map_extra, map_extra.as_ref());
        set(&mut self.numa_node, numa_node.as_ref());
        set_device(&mut self.ifindex, *ifindex);
        set(&mut self.exclusive_to, exclusive_to.as_ref());
        set(&mut self.pin, pin.as_ref());
        set(&mut self.reuse, reuse.as_ref());
        set(&mut self.inner, inner.as_ref());
        set(&mut self.data, data.as_ref());
        self.programs.extend(programs.iter().map(|(member, program)| (member.clone(), program.clone())));
        self.elements.extend(elements.iter().map(|(key, program)| (*key, program.clone())));
    }
}

fn set<T: Clone>(setting: &mut Option<T>, other: Option<&T>) {
    if let Some(other) = other {
        *setting = Some(other.clone());
    }
}

/// Sets the index of a network device. 0 is no device.
const fn set_device(setting: &mut u32, other: u32) {
    if other != 0 {
        *setting = other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_settings_override_nothing() {
        let mut map = MapSettings { max_entries: Some(4), data: Some(vec![1]), ..Default::default() };
        map.programs.insert("init".into(), None);
        map.override_with(&MapSettings::default());
        assert_eq!((map.max_entries, map.data.as_deref(), map.programs.len()), (Some(4), Some(&[1][..]), 1));
        let mut other = MapSettings { max_entries: Some(8), ifindex: 2, ..Default::default() };
        other.programs.insert("release".into(), Some("on_release".into()));
        map.override_with(&other);
        assert_eq!((map.max_entries, map.ifindex, map.programs.len()), (Some(8), 2, 2));

        let mut program =
            ProgramSettings { autoload: Some(false), flags: 1, ifindex: 3, ..Default::default() };
        program.override_with(&ProgramSettings { flags: 4, log_level: Some(1), ..Default::default() });
        assert_eq!((program.autoload, program.flags, program.ifindex), (Some(false), 5, 3));
        assert_eq!(program.log_level, Some(1));
    }
}
