//! x
pub fn run(_: &[String]) -> crate::system::Outcome {
    Ok(())
}
