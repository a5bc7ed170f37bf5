//! Options of the generator.

/// Options of a skeleton.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The path of the object for `include_bytes!`, relative to the skeleton. The default is `NAME.bpf.o`.
    pub object_path: Option<String>,
    /// The object for machines of the other byte order: its bytes, and its path for `include_bytes!`.
    pub other_byte_order: Option<(Vec<u8>, String)>,
    /// Types of the object's BTF to generate besides those that maps, variables and events use:
    /// `struct header`, `header`.
    pub types: Vec<String>,
    /// The event types of ring buffers and perf event arrays: map name and type name.
    pub events: Vec<(String, String)>,
    /// Maps that may be left out of a load (`open.maps.NAME.autocreate = Some(false)`). Their fields are
    /// `Option`.
    pub optional_maps: Vec<String>,
    /// Whether the types implement `bytemuck::Pod`. The crate that includes the skeleton needs bytemuck.
    pub bytemuck: bool,
    /// Whether the types derive zerocopy's traits. The crate that includes the skeleton needs zerocopy with
    /// the feature `derive`. Members of type `bool` are `u8` then.
    pub zerocopy: bool,
}
