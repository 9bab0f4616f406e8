//! `limits` lists the governor's [catalogue](cloud_governor::catalogue): what providers publish of how many calls they
//! grant, and where.
//!
//! | column | meaning |
//! |---|---|
//! | service | as in a scope; `*` for every service of the provider |
//! | operations | as in a scope, or with a star for any text; all, where there is none |
//! | verbs | reads, writes or deletes; all, where there is none |
//! | counted | `each`: each of the operations has a bucket; a name: all of them take from that one; `told`: nothing is paced by it |
//! | grant | how many, in what time, and how many at once after a rest |
//! | unit | what is counted, if it is not calls |
//! | condition | when it holds, if not always: the governor, which cannot know, leaves it out |
//! | source | the page below the table, and the limit's name there |
//!
//! With `--json` it is an array of [`PublishedLimit`](cloud_governor::catalogue::PublishedLimit)s.
//!
//! With `--scope` it says which buckets the calls of that scope take from, and what each grants, under the configuration that a
//! program would load in its place. A command line of no use
//! ends with exit code 2, and so does one that asks for what the catalogue does not have.

mod app;
mod holding;
mod listing;
mod options;
mod table;

pub use app::main;
pub use holding::Holding;
pub use listing::{Listing, UnknownName};
pub use options::Args;
