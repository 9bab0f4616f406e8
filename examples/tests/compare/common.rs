use clap::Parser;
use cloud_governor_examples::compare::Args;

/// Two places, and few enough things in them that the buckets' bursts cover nearly all.
pub(crate) const SMALL: &str =
    "--job base --accounts 1 --regions 2 --size log_groups=4,log_streams=2,parameters=4,secrets=4";

pub(crate) fn args(line: &str) -> Args {
    Args::try_parse_from(std::iter::once("compare").chain(line.split_whitespace())).expect("a valid command line")
}
