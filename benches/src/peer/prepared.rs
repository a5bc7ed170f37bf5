//! The trait of a peer that is ready to be measured.

/// A peer with the paths of a target and objects. A measured run reads them again.
pub trait Prepared {
    /// Parses the target from its file.
    fn parse_target(&self) -> Result<(), String>;

    /// Parses the target and validates every reference of every type. The default is for peers with one way
    /// to parse.
    fn validate_target(&self) -> Result<(), String> {
        self.parse_target()
    }

    /// Reads, opens, relocates and drops each object. Parses the target for each object, or once if `shared`.
    fn relocate(&self, shared: bool) -> Result<(), String>;

    /// Loads and drops the objects one after the other on the running kernel.
    fn load(&self) -> Result<(), String> {
        Err("this peer does not support the job".to_owned())
    }

    /// Plans all objects on each of many kernels. The target is a text file with one path per line.
    fn kernels(&self) -> Result<(), String> {
        Err("this peer does not support the job".to_owned())
    }
}
